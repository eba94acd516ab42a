/* SPDX-License-Identifier: MIT */
/* The profiler object: what `profile` in builtins is. Called with a function it selects its code
 * and returns the very same object. */
#ifndef CLP_PROFILER_H
#define CLP_PROFILER_H

#include "cpython/compat/compat.h"

/* Owned type object, or NULL with an exception set. */
PyObject *clp_profiler_make_type(PyObject *module);

#endif
