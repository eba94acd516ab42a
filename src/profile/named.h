/* SPDX-License-Identifier: MIT */
/* Measures of something that has a name in each profile: the program's own counters ("energy (mJ)"), and the devices
 * whose tensors are counted ("cuda:0"). The names are in the profile's meta, and the numbers of each line have the same
 * places. Two profiles may have the same name at different places. */
#ifndef CLP_NAMED_H
#define CLP_NAMED_H

#include "engine/lines.h"
#include "profile.h"

/* The places: first the counters, then the devices. */
#define CLP_NAMED_COUNTER 0
#define CLP_NAMED_DEVICE CLP_TALLY_COUNTERS
#define CLP_NAMED (CLP_NAMED_DEVICE + CLP_DEVICES)

/* The name at a place in the profile's meta; NULL: nothing is there. */
char **clp_named_name(struct clp_profile_meta *meta, size_t place);

/* For how many nanoseconds a counter was not read behind short lines; in the profile's meta. */
uint64_t *clp_named_unread(struct clp_profile_meta *meta, size_t counter);

/* What was allocated on the device at a place while no line ran, and what was freed. */
struct clp_named_outside {
    uint64_t *allocated, *freed; /* in the profile's meta */
};

struct clp_named_outside clp_named_outside(struct clp_profile_meta *meta, size_t device);

/* The name of what the measure belongs to, and in *what what it is of it: "", "most", "peak". NULL: the measure belongs
 * to nothing with a name. */
const char *clp_named_of(const struct clp_profile_meta *meta, enum clp_measure measure, const char **what);

/* Where one profile has in another what it has at each place. CLP_NAMED: nowhere. */
struct clp_named_places {
    size_t items[CLP_NAMED];
    bool same; /* each is where it was */
};

/* Finds places in `into` for what `from` has, and names it there. CLP_NO_MEMORY: some has no name yet. */
clp_status clp_named_place(struct clp_profile *into, const struct clp_profile_meta *from,
                           struct clp_named_places *places);

/* Adds to the meta of `into` what `from` has of devices outside the lines and of counters that were not read, at these
 * places. */
void clp_named_add_meta(struct clp_profile_meta *into, const struct clp_profile_meta *from,
                           const struct clp_named_places *places);

/* Moves the numbers of a line to these places. */
void clp_named_move(struct clp_measures *measures, const struct clp_named_places *places);

#endif
