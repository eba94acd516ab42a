/* SPDX-License-Identifier: MIT */
/* Prints who calls a function, from which lines, and whom its lines call: the tables of `clineprof callers`. */
#ifndef CLP_CALL_TABLE_H
#define CLP_CALL_TABLE_H

#include "base/buf.h"
#include "profile/profile.h"

/* All calls of one function from one line of another: the sums of their contexts (profile/calls.h). */
struct clp_call_edge {
    uint32_t caller, callee; /* places in profile->functions; CLP_CALL_DEEPER: no selected caller, or joined contexts */
    int32_t line;            /* of the caller; 0: not known */
    bool through;            /* reached through code that is not selected */
    uint64_t calls, time;
    int64_t increment;
};

/* Sets *edges to the edges of the profile, those with most time first. The caller owns the array and frees its *count
 * items with clp_mem_free. CLP_NO_MEMORY leaves nothing to free. */
clp_status clp_call_edges(const struct clp_profile *profile, struct clp_call_edge **edges, size_t *count);

struct clp_call_table {
    const struct clp_profile *profile; /* all pointers are borrowed */
    const struct clp_call_edge *edges;
    size_t count;
    const char *folder; /* file names below it are shown from there; NULL: whole */
    bool marked;        /* see table.h */
};

/* Appends the two tables of the function at `place`. A sentence says so where nobody called it, or where not all
 * callers are known. */
void clp_call_table_add(const struct clp_call_table *calls, size_t place, struct clp_buf *out);

#endif
