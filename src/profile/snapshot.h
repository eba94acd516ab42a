/* SPDX-License-Identifier: MIT */
/* From counters to a profile: all threads summed, what the profiler's events cost taken off (charges.h),
 * ticks turned into nanoseconds. */
#ifndef CLP_SNAPSHOT_H
#define CLP_SNAPSHOT_H

#include "engine/engine_copy.h"
#include "profile.h"
#include "engine/view.h"

/* Finds or adds the profile's function for this one: NAME, or of a group of threads NAME [GROUP]; of
 * several that were compiled from different texts each has its own. *into and failures are as in
 * clp_profile_add_function. */
clp_status clp_snapshot_function(const struct clp_function *function, const char *group,
                                 struct clp_profile *profile, struct clp_profile_function **into);

/* Adds every function of the view, in selection order, to the profile, with its lines that ran, and
 * fills the parts of meta that the engine knows (overhead, events, reads, has_memory, others_..). What
 * runs counts up to the moment of `copy`; memory only where the view has it. On CLP_NO_MEMORY the
 * profile holds a part and must still be cleared. */
clp_status clp_snapshot_take_view(const struct clp_view *view, const struct clp_engine_copy *copy,
                                  bool with_rss, double nanos_per_tick,
                                  struct clp_profile *profile);

#endif
