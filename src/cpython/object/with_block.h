/* SPDX-License-Identifier: MIT */
/* `with profile.block("name"):` as methods of a Profiler; blocks.h knows what they count. */
#ifndef CLP_WITH_BLOCK_H
#define CLP_WITH_BLOCK_H

#include "cpython/compat/compat.h"

/* A context manager, a new reference. TypeError for a name that is no str. */
PyObject *clp_with_block_new(PyObject *profiler, PyObject *name);

/* __enter__ and __exit__ of `with profiler:`, a block without a name. NULL with an exception set. */
PyObject *clp_with_block_enter(PyObject *profiler, PyObject *nothing);
PyObject *clp_with_block_leave(PyObject *profiler, PyObject *arguments);

#endif
