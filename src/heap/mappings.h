/* SPDX-License-Identifier: MIT */
/* The mappings among the live blocks. A program may unmap any part of a mapping, or map something else in its
 * place, but the table of live blocks finds a block by its first address only. */
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

/* Sorted by falling address. The kernel hands out falling addresses, so a new mapping is mostly the last. */
struct clp_mappings {
    struct clp_mem *mem; /* borrowed */
    struct clp_mapping *items;
    size_t count, room;
};

void clp_mappings_init(struct clp_mappings *mappings, struct clp_mem *mem);

/* Adds a mapping, which must not overlap another. CLP_NO_MEMORY: all is as it was. */
clp_status clp_mappings_add(struct clp_mappings *mappings, uint64_t start, uint64_t end);

/* Takes out a mapping that has bytes between start and end; *taken is the whole mapping. False: none. */
bool clp_mappings_take(struct clp_mappings *mappings, uint64_t start, uint64_t end,
                       struct clp_mapping *taken);

#endif
