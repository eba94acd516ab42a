/* SPDX-License-Identifier: MIT */
#include "mappings.h"
#include <string.h>

void clp_mappings_init(struct clp_mappings *mappings, struct clp_mem *mem)
{
    *mappings = (struct clp_mappings){.mem = mem};
}

/* The index of the first mapping that begins below the address; `count` when there is none. */
static size_t first_below(const struct clp_mappings *mappings, uint64_t address)
{
    size_t low = 0, high = mappings->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (mappings->items[middle].start < address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static clp_status make_room(struct clp_mappings *mappings)
{
    void *items = mappings->items;

    if (mappings->count < mappings->room)
        return CLP_OK;
    clp_status status = clp_mem_grow(mappings->mem, &items, &mappings->room,
                                     mappings->room != 0 ? mappings->room * 2 : 64,
                                     sizeof *mappings->items);
    mappings->items = items;
    return status;
}

clp_status clp_mappings_add(struct clp_mappings *mappings, uint64_t start, uint64_t end)
{
    size_t at = first_below(mappings, start);

    if (make_room(mappings) != CLP_OK)
        return CLP_NO_MEMORY;
    memmove(&mappings->items[at + 1], &mappings->items[at],
            (mappings->count - at) * sizeof *mappings->items);
    mappings->items[at] = (struct clp_mapping){start, end};
    mappings->count++;
    return CLP_OK;
}

bool clp_mappings_take(struct clp_mappings *mappings, uint64_t start, uint64_t end,
                       struct clp_mapping *taken)
{
    size_t at = first_below(mappings, end);

    if (at == mappings->count || mappings->items[at].end <= start)
        return false;
    *taken = mappings->items[at];
    mappings->count--;
    memmove(&mappings->items[at], &mappings->items[at + 1],
            (mappings->count - at) * sizeof *mappings->items);
    return true;
}
