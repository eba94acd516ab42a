/* SPDX-License-Identifier: MIT */
/* `with profile.block("name"):`, as methods of a Profiler. blocks.h knows what blocks count. */
#ifndef CLP_WITH_BLOCK_H
#define CLP_WITH_BLOCK_H

#include "cpython/compat/compat.h"

/* Makes a context manager for a block, a new reference. NULL with TypeError set for a name that is no str. */
PyObject *clp_with_block_new(PyObject *profiler, PyObject *name);

/* The same under the name that it has in programs for mprof, where the name of the block may be missing. */
PyObject *clp_with_block_timestamp(PyObject *profiler, PyObject *arguments, PyObject *keywords);

/* __enter__ and __exit__ of `with profiler:`, which is a block without a name. NULL with an exception set. */
PyObject *clp_with_block_enter(PyObject *profiler, PyObject *nothing);
PyObject *clp_with_block_leave(PyObject *profiler, PyObject *arguments);

#endif
