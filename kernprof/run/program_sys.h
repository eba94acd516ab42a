/* SPDX-License-Identifier: MIT */
/* What python makes ready before it runs a program: sys.argv, sys.orig_argv, sys.path, __main__. */
#ifndef CLP_PROGRAM_SYS_H
#define CLP_PROGRAM_SYS_H

#include "cpython/compat/compat.h"
#include "cli/options.h"

/* Prepares sys and __main__, after clp_first_path_leave. False with an exception set. */
bool clp_program_prepare(const struct clp_run_options *options);

/* The folder of a script, links resolved, as it stands on sys.path. A new reference, NULL with an exception set. */
PyObject *clp_program_folder_of(const char *script);

/* A script as python names it: made absolute, but neither links nor dots resolved. A new reference, NULL with an
 * exception set. */
PyObject *clp_program_name_of(const char *script);

/* Is it a folder or an archive that has its own importer? python runs its __main__. */
bool clp_program_is_importable(const char *path);

#endif
