/* SPDX-License-Identifier: MIT */
/* Which addresses are mapped, as far as it matters: a program may give any part of a mapping back,
 * or put something else in its place, and the table of live blocks knows blocks by their first
 * address only. */
#ifndef CLP_MAPPINGS_H
#define CLP_MAPPINGS_H

#include "base/mem.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clp_mapping {
    uint64_t start, end; /* behind the last byte */
};

/* By falling address, as the kernel hands them out: a new one mostly is the last. */
struct clp_mappings {
    struct clp_mem *mem; /* borrowed */
    struct clp_mapping *items;
    size_t count, room;
};

void clp_mappings_init(struct clp_mappings *mappings, struct clp_mem *mem);

/* Nothing may lie there yet. CLP_NO_MEMORY: all is as it was. */
clp_status clp_mappings_add(struct clp_mappings *mappings, uint64_t start, uint64_t end);

/* Takes one out that has bytes between the two; *taken is the whole of it. False: there is none. */
bool clp_mappings_take(struct clp_mappings *mappings, uint64_t start, uint64_t end,
                       struct clp_mapping *taken);

#endif
