/* SPDX-License-Identifier: MIT */
/* clineprof.profile in a program of several processes, if the environment asks for it. As with --prof-child-procs,
 * each process records into a live file of its own (family.h). When the first process ends, it adds up the files of the
 * processes that have ended by then. */
#ifndef CLP_API_PROCESSES_H
#define CLP_API_PROCESSES_H

#include "cpython/compat/compat.h"

/* together(profiler, outfile, rights, own_name, family, command, is_server) in Python: this process takes part in the
 * run. `family` is the name of the run (clp_run_id), "" in the first process. `outfile` is an absolute path, `rights`
 * are those of all files; with own_name the names of the files hold this process's number. Returns a tuple:
 *
 *   outfile, path of the live file, family: str. The outfile has another name if another process uses the wanted one
 *   the callbacks of clp_children_callbacks
 *   leave()            is for the end of a process that is not the first
 *   gather(command)    returns the sum of the processes as the bytes of a .lprof file, or None when no other process
 *                      has counted anything. It removes no file
 *   end(written)       when the sum has been written, removes the files that gather() read last and this process's own
 *                      live file; when not, the files stay, and a message names this process's own
 *
 * Returns None when no live file can be made, after a message, and when the process has been profiled before. NULL
 * with an exception set. */
PyObject *clp_api_processes_begin(PyObject *module, PyObject *arguments);

#endif
