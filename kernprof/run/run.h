/* SPDX-License-Identifier: MIT */
/* The command line of ckernprof. `words` is a list of str; words[0] is the name or path by which ckernprof was
 * called. */
#ifndef CLP_RUN_H
#define CLP_RUN_H

#include "cpython/compat/compat.h"

/* Profiles a program, as the command line says. profiler_type is the type Profiler. Returns NULL with SystemExit set,
 * which holds the exit code; or an object for sys.exit(): None when the exit code is 0, CLP_INTERRUPTED when the program
 * was interrupted (Ctrl-C), which the interpreter knows then. */
PyObject *clp_run_main(PyObject *profiler_type, PyObject *words);

/* interpreter(words, active, usual) in Python: the path of the interpreter that the command line asks for
 * (clp_interpreter_find), or `usual` if the command line is wrong or runs no program. */
PyObject *clp_run_interpreter(PyObject *module, PyObject *arguments);

/* join(family, outfile, folder, words, is_server) in Python: this process, which a program under ckernprof has
 * started, takes part in the run of that ckernprof. `words` is the command line of that ckernprof, `folder` its
 * working directory at the start, `family` the name of the run (clp_run_id). is_server: the process only forks others
 * (CLP_RECORDING_SERVER). NULL with an exception set when it cannot take part; it then goes on unprofiled. */
PyObject *clp_run_join(PyObject *profiler_type, PyObject *arguments);

#endif
