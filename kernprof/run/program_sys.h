/* SPDX-License-Identifier: MIT */
/* Prepares what python prepares before it runs a program: sys.argv, sys.orig_argv, sys.path, __main__. */
#ifndef CLP_PROGRAM_SYS_H
#define CLP_PROGRAM_SYS_H

#include "cpython/compat/compat.h"
#include "cli/options.h"

/* Prepares sys and __main__. To be called after clp_first_path_leave. False with an exception set. */
bool clp_program_prepare(const struct clp_run_options *options);

/* The folder of a script as python puts it on sys.path, with symbolic links resolved: a new reference to a str, or NULL
 * with an exception set. */
PyObject *clp_program_folder_of(const char *script);

/* The name that python gives a script (__file__): an absolute path in which neither symbolic links nor ".." are
 * resolved. A new reference to a str, or NULL with an exception set. */
PyObject *clp_program_name_of(const char *script);

/* Is the path a folder or an archive that Python can import from? python then runs the __main__ in it. */
bool clp_program_is_importable(const char *path);

#endif
