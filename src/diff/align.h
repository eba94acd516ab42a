/* SPDX-License-Identifier: MIT */
/* Finds which items of one sequence are which items of another, where one text was edited into the other. The items
 * are hashes: of the texts of lines, or of the texts of functions.
 *
 * Equal beginnings and ends are matched first. Of the remaining items, those that stand exactly once on both sides
 * become anchors: the longest run of them that is in the same order on both sides (the patience algorithm). The
 * stretches between the anchors are aligned in the same way. A stretch without anchors is matched by its longest
 * common subsequence if it is short, otherwise item by item with the first equal item within a window. Every item is
 * looked at a bounded number of times, whatever the sequences hold. */
#ifndef CLP_ALIGN_H
#define CLP_ALIGN_H

#include "base/mem.h"
#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

#define CLP_ALIGN_NONE SIZE_MAX

struct clp_align {
    struct clp_mem *mem; /* borrowed */
    uint64_t steps;      /* items looked at so far, so that a test can see that aligning takes linear time */
};

/* Sets to[i] for each item of `a`: the index of its match in `b`, or CLP_ALIGN_NONE. The indices ascend. Two items are
 * equal when their numbers are equal. CLP_NO_MEMORY leaves `to` in any state. */
clp_status clp_align_items(struct clp_align *align, const uint64_t *a, size_t a_count,
                           const uint64_t *b, size_t b_count, size_t *to);

#endif
