/* SPDX-License-Identifier: MIT */
/* From counters to a profile: all threads summed, ticks turned into nanoseconds, corrections taken
 * off and clamped at zero, once, on the sum. */
#ifndef CLP_SNAPSHOT_H
#define CLP_SNAPSHOT_H

#include "engine.h"
#include "profile.h"

/* Adds every function of the engine, in selection order, to the profile, with its lines that ran,
 * and fills the parts of meta that the engine knows (overhead, events, reads, has_memory,
 * others_..). What is
 * still on a stack has self time up to its thread's last event, but no time and no total yet:
 * unwind first. On CLP_NO_MEMORY the profile holds a part and must still be cleared. */
clp_status clp_snapshot_take(const struct clp_engine *engine, double nanos_per_tick,
                             struct clp_profile *profile);

/* The same, the memory it needs meanwhile counted in `pages`. */
clp_status clp_snapshot_take_with(const struct clp_engine *engine, struct clp_pages *pages,
                                  double nanos_per_tick, struct clp_profile *profile);

#endif
