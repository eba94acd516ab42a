/* SPDX-License-Identifier: MIT */
/* Modules on their way from the loader to their execution. */
#ifndef CLP_IMPORTS_H
#define CLP_IMPORTS_H

#include "../src/python/compat.h"

/* From now on clp_profiler_prepare sees the code of each module that comes from a source file or its
 * cache, before it runs, and what it returns runs instead. The caches themselves stay as they are.
 * False with an exception set. */
bool clp_imports_prepare(PyObject *profiler);

#endif
