/* SPDX-License-Identifier: MIT */
/* clineprof.profile in a program of several processes, switched on by the environment: as with
 * --prof-child-procs each process records into a live file of its own (family.h). The one that was
 * first adds up at its end what has ended by then. */
#ifndef CLP_API_PROCESSES_H
#define CLP_API_PROCESSES_H

#include "cpython/compat/compat.h"

/* together(profiler, outfile, rights, own_name, family, command, is_server): this process takes part. `family`
 * is the name of the processes (clp_run_id), "" when this one is the first; outfile is absolute, `rights` are
 * those of the files, with own_name they get this process's number. A tuple:
 *
 *   the outfile, which has another name where that one is taken; the live file; the family
 *   the callbacks of clp_children_callbacks
 *   leave()            at the end of a process that is not the first
 *   gather(command)    the sum as the bytes of a .lprof, or None when nobody else has counted; no file is
 *                      gone then
 *   end(written)       takes away the files of what was gathered last, and this process's own, when that is
 *                      safely written; else they stay, and its own is told
 *
 * None when there is no place for files, which is told, or when this process has counted before. NULL
 * with an exception set. */
PyObject *clp_api_processes_begin(PyObject *module, PyObject *arguments);

#endif
