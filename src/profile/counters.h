/* SPDX-License-Identifier: MIT */
/* The program's own counters in a profile. Their names are in its meta, and the numbers of each line have the same
 * places. Two profiles may have the same counter at different places. */
#ifndef CLP_COUNTERS_H
#define CLP_COUNTERS_H

#include "engine/lines.h"
#include "profile.h"

#define CLP_COUNTERS CLP_TALLY_COUNTERS

/* The name of a counter in the profile's meta, such as "energy (mJ)"; NULL: there is no such counter. */
char **clp_counter_name(struct clp_profile_meta *meta, size_t counter);

/* The name of the counter that the measure belongs to; NULL: it is no counter's. */
const char *clp_counter_named(const struct clp_profile_meta *meta, enum clp_measure measure);

/* The places of one profile's counters in another. CLP_COUNTERS: it has no place there. */
struct clp_counter_places {
    size_t items[CLP_COUNTERS];
    bool same; /* each counter is where it was */
};

/* Finds places in `into` for the counters of `from`, and names them there. CLP_NO_MEMORY: some have no names yet. */
clp_status clp_counters_place(struct clp_profile *into, const struct clp_profile_meta *from,
                              struct clp_counter_places *places);

/* Moves the numbers of a line to these places. */
void clp_counters_move(struct clp_measures *measures, const struct clp_counter_places *places);

#endif
