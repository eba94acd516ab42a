/* SPDX-License-Identifier: MIT */
/* The Profiler object, which `profile` in builtins is. Called with a function it selects the function's code,
 * and returns the very same object. */
#ifndef CLP_PROFILER_H
#define CLP_PROFILER_H

#include "cpython/compat/compat.h"

/* Makes the type object, a new reference; NULL with an exception set. */
PyObject *clp_profiler_make_type(PyObject *module);

#endif
