/* SPDX-License-Identifier: MIT */
#include "line_map.h"
#include <string.h>

static size_t bytes_of(size_t span, size_t count)
{
    return sizeof(struct clp_line_map) + span * sizeof(uint32_t) + count * sizeof(int32_t);
}

struct clp_line_map *clp_line_map_new(struct clp_mem *mem, int32_t lowest, const int32_t *lines, uint32_t count)
{
    uint32_t span = lines == NULL || count == 0 ? count : (uint32_t)lines[count - 1] - (uint32_t)lowest + 1;
    struct clp_line_map *map = clp_mem_alloc(mem, bytes_of(span, count), 1);

    if (map == NULL)
        return NULL;
    int32_t *own = (int32_t *)(map->cells + span);
    memset(map->cells, 0xff, span * sizeof *map->cells);
    for (uint32_t i = 0; i < count; i++) {
        own[i] = lines != NULL ? lines[i] : (int32_t)((uint32_t)lowest + i);
        map->cells[(uint32_t)own[i] - (uint32_t)lowest] = i;
    }
    map->lowest = lowest;
    map->span = span;
    map->count = count;
    map->lines = own;
    return map;
}

void clp_line_map_free(struct clp_mem *mem, struct clp_line_map *map)
{
    if (map != NULL)
        clp_mem_free(mem, map, bytes_of(map->span, map->count), 1);
}
