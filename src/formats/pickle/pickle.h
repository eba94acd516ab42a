/* SPDX-License-Identifier: MIT */
/* line_profiler's file: a pickle of one object,
 *
 *   LineStats
 *     timings  {(file, first line, name): [(line, hits, ticks), ..], ..}
 *     unit     seconds per tick
 *
 * It has lines, hits and times, which are those the clock saw: what line_profiler costs is in them. A
 * function's total is the sum of its lines. Nothing else is known: no self time, no memory, no
 * source, nothing of the run. */
#ifndef CLP_PICKLE_H
#define CLP_PICKLE_H

#include "base/buf.h"
#include "profile/profile.h"
#include "base/status.h"
#include <stdbool.h>

/* Do these bytes start a pickle? Those of protocols 0 and 1 only where they start with a name. */
bool clp_pickle_is(const char *bytes, size_t count);

/* Appends the profile as line_profiler 3.0 and newer opens it. Lines that never ran are left out.
 * CLP_NO_MEMORY leaves the buffer with a part of it. */
clp_status clp_pickle_encode(const struct clp_profile *profile, struct clp_buf *out);

/* Reads bytes into an initialised, empty profile. Nothing in them is imported or called
 * (unpickle.h). On failure the profile is empty again and *fault says where and why. */
clp_status clp_pickle_decode(const char *bytes, size_t count, struct clp_profile *profile,
                             struct clp_fault *fault);

#endif
