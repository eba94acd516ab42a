/* SPDX-License-Identifier: MIT */
/* Puts the engine's tree of calls into a profile, as far as its functions are those of a view. */
#ifndef CLP_SNAPSHOT_CALLS_H
#define CLP_SNAPSHOT_CALLS_H

#include "engine/view.h"
#include "profile.h"

/* Where a function of the engine stands in the profile. Code objects of one file, first line and name share a place. */
struct clp_snapshot_place {
    uint32_t function;   /* in the engine */
    bool grouped;        /* is the place only for the calls of one group of threads? */
    uint32_t group;
    uint32_t place;      /* in the profile */
    uint64_t raw;        /* the function's total, in ticks */
    double ticks;        /* the same without what the profiler's own events took */
};

/* The functions that a profile got from a view. */
struct clp_snapshot_places {
    struct clp_mem *mem; /* borrowed */
    struct clp_snapshot_place *items;
    size_t count, room;
};

/* Appends a copy of the place. CLP_NO_MEMORY leaves the list as it was. */
clp_status clp_snapshot_note_place(struct clp_snapshot_places *places, const struct clp_snapshot_place *place);
void clp_snapshot_clear_places(struct clp_snapshot_places *places);

/* Appends the calls of the view's functions. Sorts `places`. Times of calls are scaled so that what all its callers
 * spent in a function is its total. Where calls lie within others (recursion), no call is longer than the total.
 * CLP_NO_MEMORY leaves a part of the calls in the profile. */
clp_status clp_snapshot_add_calls(const struct clp_view *view, const struct clp_engine_copy *copy,
                                  struct clp_snapshot_places *places, double nanos_per_tick,
                                  struct clp_profile *profile);

#endif
