/* SPDX-License-Identifier: MIT */
/* The entry that python puts first on sys.path: the program's folder, or the working directory. With -P or -I python
 * puts none. */
#ifndef CLP_FIRST_PATH_H
#define CLP_FIRST_PATH_H

#include "cpython/compat/compat.h"
#include <stdbool.h>

/* Does python put an entry first? False with -P or -I. */
bool clp_first_path_is_used(void);

/* Removes the first entry of sys.path, if python has put one there at its start. So nothing is imported from the
 * working directory before the program runs. False with an exception set. */
bool clp_first_path_leave(void);

/* Inserts `entry` (borrowed) at the start of sys.path, unless -P or -I forbids it. False with an exception set;
 * false as well when `entry` is NULL, for a caller whose call that made `entry` has failed. */
bool clp_first_path_set(PyObject *entry);

#endif
