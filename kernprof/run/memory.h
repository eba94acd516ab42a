/* SPDX-License-Identifier: MIT */
/* The sampler of process sizes (timeline/sampler.h) for Python. The command `clineprof mem`
 * (src/clineprof/_mem/command.py) uses it. */
#ifndef CLP_MEMORY_H
#define CLP_MEMORY_H

#include "cpython/compat/compat.h"

/* Makes the type clineprof._core.Sampler, with Sampler(pid, interval, children=False, kind='rss'). A new reference, or
 * NULL with an exception set. */
PyObject *clp_memory_make_type(PyObject *module);

/* sizes(pid, children, kind) in Python: [(pid, bytes), ..], the sizes of a process now and, with children, of its
 * descendants. NULL with an exception set; OSError when the process cannot be seen. */
PyObject *clp_memory_sizes(PyObject *module, PyObject *arguments);

#endif
