/* SPDX-License-Identifier: MIT */
/* The live file of clineprof.profile, for a program that runs without ckernprof. */
#ifndef CLP_API_LIVE_FILE_H
#define CLP_API_LIVE_FILE_H

#include "cpython/compat/compat.h"

/* keep(profiler, outfile, rights, command) in Python: begins a live file with these rights beside `outfile`, an
 * absolute path. Returns the tuple (outfile, path of the live file); the outfile has another name if another process
 * uses the wanted one. Returns None if the file cannot be made, or if it is too late: the profiler is not the only
 * one, has selected functions, or has seen other threads (clp_profiler_may_go_live). NULL with an exception set. */
PyObject *clp_api_live_file_begin(PyObject *module, PyObject *arguments);

/* keep_end(written) in Python: ends the live file. It is removed if the profile has been written; if not, it stays,
 * and a message names it. In another process than the one that began the file nothing happens. NULL with an exception
 * set. */
PyObject *clp_api_live_file_end(PyObject *module, PyObject *written);

#endif
