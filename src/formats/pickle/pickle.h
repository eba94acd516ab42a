/* SPDX-License-Identifier: MIT */
/* line_profiler's file, a pickle of one object:
 *
 *   LineStats
 *     timings  {(file, first line, name): [(line, hits, ticks), ..], ..}
 *     unit     seconds per tick
 *
 * The times are those the clock saw: they contain what line_profiler itself costs. A function's total is the
 * sum of its lines. The file has nothing else: no self time, no memory, no source, nothing about the run. */
#ifndef CLP_PICKLE_H
#define CLP_PICKLE_H

#include "base/buf.h"
#include "profile/profile.h"
#include "base/status.h"
#include <stdbool.h>

/* Do these bytes start a pickle? A pickle of protocol 0 or 1 is recognised only if it starts with a GLOBAL
 * instruction. */
bool clp_pickle_is(const char *bytes, size_t count);

/* Appends the profile in a form that line_profiler 3.0 and newer open. Leaves out lines that never ran.
 * CLP_NO_MEMORY leaves a part of the profile in the buffer. */
clp_status clp_pickle_encode(const struct clp_profile *profile, struct clp_buf *out);

/* Reads a file into an initialised, empty profile. Nothing that the file names is imported or called
 * (unpickle.h). On failure the profile is empty again, and *fault says where and why. */
clp_status clp_pickle_decode(const char *bytes, size_t count, struct clp_profile *profile,
                             struct clp_fault *fault);

#endif
