/* SPDX-License-Identifier: MIT */
/* Profiles as Python objects, for the formats that are written in Python. */
#ifndef CLP_LOAD_H
#define CLP_LOAD_H

#include "profile/profile.h"
#include "cpython/compat/compat.h"

/* Makes a dict with the keys of the .lprof file (docs/format.md), except that a function holds its own text
 * ("source", None when it is not known) and "running", a list of the lines in flight, and that "lines" has a
 * column "below_resolution" where it is true of some line. There are no "processes". Columns of "lines" that
 * hold nothing but zeros are left out. Bytes that are no UTF-8 become \xNN. A new reference; NULL with an
 * exception set. */
PyObject *clp_load_dict(const struct clp_profile *profile);

#endif
