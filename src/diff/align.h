/* SPDX-License-Identifier: MIT */
/* Which items of one sequence are which of another, when both are texts of which one was edited
 * into the other: lines by the hash of their text, functions by that of theirs.
 *
 * Equal beginnings and ends come off first. Of what is left, items that stand there exactly once on
 * both sides are anchors, as many of them as keep their order (patience), and the stretches between
 * are aligned in the same way. Where a stretch has no anchors it takes the longest common
 * subsequence if the stretch is short, else what is equal within a window. Every item is looked at
 * a bounded number of times, whatever the sequences hold. */
#ifndef CLP_ALIGN_H
#define CLP_ALIGN_H

#include "base/mem.h"
#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

#define CLP_ALIGN_NONE SIZE_MAX

struct clp_align {
    struct clp_mem *mem; /* borrowed */
    uint64_t steps;      /* items looked at so far, for whoever wants to see that it is linear */
};

/* Sets to[i] for each of a's items: the place in b, ascending, or CLP_ALIGN_NONE. Items are equal
 * where their numbers are. CLP_NO_MEMORY leaves `to` in any state. */
clp_status clp_align_items(struct clp_align *align, const uint64_t *a, size_t a_count,
                           const uint64_t *b, size_t b_count, size_t *to);

#endif
