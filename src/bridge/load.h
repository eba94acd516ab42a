/* SPDX-License-Identifier: MIT */
/* Profiles as Python objects, for the formats that are written in Python and for clineprof.load. */
#ifndef CLP_LOAD_H
#define CLP_LOAD_H

#include "profile/profile.h"
#include "cpython/compat/compat.h"

/* A dict like the file that docs/format.md draws, but that each function holds its own text
 * ("source", None when it is not known), "lines" lacks no column that is not zero throughout, and
 * "running" lists the lines in flight. Text that is no UTF-8 comes with \xNN in it. A new
 * reference; NULL with an exception set. */
PyObject *clp_load_dict(const struct clp_profile *profile);

/* load(*paths): the sum of the files, as such a dict. OSError when one cannot be read, ValueError when it is no
 * profile. */
PyObject *clp_load_files(PyObject *module, PyObject *paths);

/* sum(*paths): the sum of the files as bytes of a .lprof file. Failures as above. */
PyObject *clp_load_sum(PyObject *module, PyObject *paths);

/* hottest(data, count): the table of the lines that took the most time of their own in a .lprof file of this
 * content, as text; "" where nothing ran. ValueError when it is no profile. */
PyObject *clp_load_hottest(PyObject *module, PyObject *arguments);

#endif
