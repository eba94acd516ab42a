/* SPDX-License-Identifier: MIT */
/* Selects what -p would select, for profilers that Python code has made (the pytest plugin). */
#ifndef CLP_SELECTION_H
#define CLP_SELECTION_H

#include "cpython/compat/compat.h"

/* Makes the type clineprof._core.Selection: a new reference, or NULL with an exception set. */
PyObject *clp_selection_make_type(PyObject *module);

#endif
