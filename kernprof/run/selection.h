/* SPDX-License-Identifier: MIT */
/* What -p selects, for profilers that Python code has made (the pytest plugin). */
#ifndef CLP_SELECTION_H
#define CLP_SELECTION_H

#include "cpython/compat/compat.h"

/* The type clineprof._core.Selection: owned, or NULL with an exception set. */
PyObject *clp_selection_make_type(PyObject *module);

#endif
