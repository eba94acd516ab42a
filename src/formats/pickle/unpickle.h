/* SPDX-License-Identifier: MIT */
/* A machine for the harmless part of Python's pickles, protocols 0 to 5: numbers, texts, tuples,
 * lists, dicts, and objects of line_profiler's one class. Nothing is imported or called; a pickle
 * that asks for anything else is refused with its name.
 *
 * Each instruction of a pickle has a byte at least and makes one value at most, so memory is at most
 * some 150 times the file, and time is linear, whatever lengths and numbers the file declares. */
#ifndef CLP_UNPICKLE_H
#define CLP_UNPICKLE_H

#include "base/mem.h"
#include "pickled.h"
#include "base/status.h"
#include <stddef.h>

/* Runs a whole pickle. On failure nothing is allocated and *fault says where and why; clear it
 * otherwise. */
clp_status clp_unpickle(struct clp_unpickled *values, struct clp_mem *mem, const char *bytes,
                        size_t count, struct clp_fault *fault);

#endif
