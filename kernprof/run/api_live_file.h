/* SPDX-License-Identifier: MIT */
/* The live file of a profiler that the program itself has made (clineprof.profile). */
#ifndef CLP_API_LIVE_FILE_H
#define CLP_API_LIVE_FILE_H

#include "cpython/compat/compat.h"

/* keep(profiler, outfile, rights, command): beside the absolute path a live file is kept from now on, with
 * these rights. The outfile, which has another name where that one is taken, and the live file; or None
 * where it is too late for one, or it cannot be had. NULL with an exception set. */
PyObject *clp_api_live_file_begin(PyObject *module, PyObject *arguments);

/* keep_end(written): the file goes away where the profile is safely written, else it stays and is
 * told; only in the process that began it. NULL with an exception set. */
PyObject *clp_api_live_file_end(PyObject *module, PyObject *written);

#endif
