/* SPDX-License-Identifier: MIT */
/* From counters to a profile: all threads summed, ticks turned into nanoseconds, corrections taken
 * off and clamped at zero, once, on the sum. */
#ifndef CLP_SNAPSHOT_H
#define CLP_SNAPSHOT_H

#include "engine.h"
#include "profile.h"
#include "view.h"

/* Adds every function of the engine, in selection order, to the profile, with its lines that ran,
 * and fills the parts of meta that the engine knows (overhead, events, reads, has_memory,
 * others_..). What is
 * still on a stack has self time up to its thread's last event, but no time and no total yet:
 * unwind first. On CLP_NO_MEMORY the profile holds a part and must still be cleared. */
clp_status clp_snapshot_take(const struct clp_engine *engine, double nanos_per_tick,
                             struct clp_profile *profile);

/* The same of what a view has counted, what runs included up to the moment of `ended`; without memory
 * where the view has none. */
clp_status clp_snapshot_take_view(const struct clp_view *view, const struct clp_ended *ended,
                                  bool with_rss, double nanos_per_tick,
                                  struct clp_profile *profile);

#endif
