/* SPDX-License-Identifier: MIT */
/* A machine that runs the harmless part of Python's pickles, protocols 0 to 5: numbers, texts, tuples, lists,
 * dicts, and objects of one class, line_profiler's LineStats. Nothing is imported or called. A pickle that asks
 * for anything else is refused, and the fault names what it asked for.
 *
 * Each instruction of a pickle takes at least one byte and makes at most one value. So memory is limited to
 * some 150 times the size of the file, and time is linear, whatever lengths and numbers the file declares. */
#ifndef CLP_UNPICKLE_H
#define CLP_UNPICKLE_H

#include "base/mem.h"
#include "pickled.h"
#include "base/status.h"
#include <stddef.h>

/* Runs a whole pickle. On failure nothing is allocated, and *fault says where and why. After success the caller
 * clears *values, which borrows `bytes` until then. */
clp_status clp_unpickle(struct clp_unpickled *values, struct clp_mem *mem, const char *bytes,
                        size_t count, struct clp_fault *fault);

#endif
