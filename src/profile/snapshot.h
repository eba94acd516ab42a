/* SPDX-License-Identifier: MIT */
/* Makes a profile from the engine's counters: sums all threads, subtracts the cost of the profiler's own events
 * (charges.h), and turns ticks into nanoseconds. */
#ifndef CLP_SNAPSHOT_H
#define CLP_SNAPSHOT_H

#include "engine/engine_copy.h"
#include "profile.h"
#include "engine/view.h"

/* Finds or adds the profile's function for a function of the engine. It is called NAME, or NAME [GROUP] for a group of
 * threads. Versions compiled from different texts are different functions of the profile. *into is borrowed and stays
 * valid until the next function is added. CLP_NO_MEMORY leaves the profile as it was. */
clp_status clp_snapshot_function(const struct clp_function *function, const char *group,
                                 struct clp_profile *profile, struct clp_profile_function **into);

/* What a snapshot has besides times, and what makes nanoseconds of ticks. */
struct clp_snapshot_wish {
    uint32_t parts;   /* of the blocks, a sum of enum clp_part */
    bool cpu;         /* processor time */
    uint32_t tallies; /* a sum of enum clp_tally_source */
    bool called;      /* what lines call */
    bool device_time; /* what devices did */
    double nanos_per_tick;
};

/* Adds every function of the view with its lines that ran, in the order of selection. Fills the parts of meta that the
 * engine knows: overhead, events, reads, what was measured, others_grown, others_released, gc_outside, gc_outside_runs.
 * Lines that are running count up to the moment of `copy`. On CLP_NO_MEMORY the profile holds a part and must still be
 * cleared. */
clp_status clp_snapshot_take_view(const struct clp_view *view, const struct clp_engine_copy *copy,
                                  const struct clp_snapshot_wish *wish, struct clp_profile *profile);

#endif
