/* SPDX-License-Identifier: MIT */
/* The command line of ckernprof: `words` is a list of str, words[0] being the name or path the program was
 * called by. It ends by SystemExit: NULL with an exception set. */
#ifndef CLP_RUN_H
#define CLP_RUN_H

#include "cpython/compat/compat.h"

/* ckernprof: profiles a program. profiler_type makes the profiler. Returns None only when the
 * program was interrupted (Ctrl-C) and the interpreter knows of it. */
PyObject *clp_run_main(PyObject *profiler_type, PyObject *words);

/* interpreter(words, active, usual): the path of the one that this command line wants
 * (clp_interpreter_find); `usual` where the command line is wrong or runs nothing. */
PyObject *clp_run_interpreter(PyObject *module, PyObject *arguments);

/* join(family, outfile, folder, words, is_server): this process, which a program under ckernprof has
 * started, takes part in its run: `words` is the command line of that, `family` its name (clp_run_id), `folder`
 * where it began. is_server: it will only fork others (CLP_FAMILY_SERVER). NULL with an exception set when it
 * cannot; the program goes on without. */
PyObject *clp_run_join(PyObject *profiler_type, PyObject *arguments);

#endif
