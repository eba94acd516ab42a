/* SPDX-License-Identifier: MIT */
/* The door from Python to the sampler (timeline/sampler.h), and the command `clineprof mem`, which is
 * src/clineprof/_mem/command.py. */
#ifndef CLP_MEMORY_H
#define CLP_MEMORY_H

#include "cpython/compat/compat.h"

/* Sampler(pid, interval, children, kind): owned type object, or NULL with an exception set. */
PyObject *clp_memory_make_type(PyObject *module);

/* clineprof._core.sizes. */
PyObject *clp_memory_sizes(PyObject *module, PyObject *arguments);

#endif
