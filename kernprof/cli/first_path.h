/* SPDX-License-Identifier: MIT */
/* The folder that python puts first on sys.path: the program's, the working directory, or, with -P and -I, none. */
#ifndef CLP_FIRST_PATH_H
#define CLP_FIRST_PATH_H

#include "cpython/compat/compat.h"
#include <stdbool.h>

/* Does python put a folder first? Not under -P or -I. */
bool clp_first_path_is_used(void);

/* Takes what the way in put first off sys.path, so that nothing is imported from the working
 * directory before the program runs. False with an exception set. */
bool clp_first_path_leave(void);

/* Puts the entry first, where python does so. False with an exception set, as where `entry` is NULL. */
bool clp_first_path_set(PyObject *entry);

#endif
