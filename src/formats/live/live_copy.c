/* SPDX-License-Identifier: MIT */
#include "live_copy.h"

void *clp_live_append(struct clp_live_reader *reader, struct clp_live_list *list, size_t item_bytes)
{
    if (list->count == list->room &&
        clp_mem_grow(reader->mem, &list->items, &list->room, list->room * 2 + 64, item_bytes) !=
            CLP_OK)
        return NULL;
    return (char *)list->items + item_bytes * list->count++;
}

struct clp_clock clp_live_clock(const struct clp_live_header *header)
{
    return (struct clp_clock){.counter = header->counter != 0,
                              .rough_nanos = header->rough_nanos,
                              .start_ticks = header->start_ticks,
                              .start_nanos = header->clock_nanos};
}
