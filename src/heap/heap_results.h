/* SPDX-License-Identifier: MIT */
/* Makes measures of lines, and verdicts, from the table of live blocks. */
#ifndef CLP_HEAP_RESULTS_H
#define CLP_HEAP_RESULTS_H

#include "engine/functions.h"
#include "heap.h"
#include "profile/profile.h"
#include "engine/view.h"

/* Whose numbers are wanted. */
struct clp_heap_scope {
    const struct clp_functions *functions;
    const struct clp_view *view; /* what other functions own counts as nobody's; NULL: all functions */
    bool allocated; /* does the table say what lines allocated, because nothing else counts it? */
};

/* Adds the lines' measures to the profile, and what is known of the whole to its meta. CLP_NO_MEMORY leaves the
 * profile with a part of them. */
clp_status clp_heap_fill(struct clp_heap *heap, const struct clp_heap_scope *scope,
                         struct clp_profile *profile);

/* How verdicts are made; a negative number: the usual one. */
struct clp_heap_judging {
    int warmups; /* calls or ticks */
    int64_t limit;
    double seconds; /* that the run took */
};

/* Adds the verdicts to the profile, how many epochs there were, and which functions could not be judged, after
 * clp_heap_finish and clp_heap_fill. CLP_NO_MEMORY leaves the
 * profile with a part of them. */
clp_status clp_heap_judge(struct clp_heap *heap, const struct clp_heap_scope *scope,
                          const struct clp_heap_judging *judging, struct clp_profile *profile);

#endif
