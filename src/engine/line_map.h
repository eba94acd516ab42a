/* SPDX-License-Identifier: MIT */
/* Which lines of a function have counters: those on which code stands. Most lines of a module or a class stand in the
 * bodies of its functions, or hold nothing that runs.
 *
 *   lines[cell] ---> line of the file
 *   cells[line - lowest] ---> cell, or CLP_NO_CELL
 *
 * A map never changes, so any thread may read it. */
#ifndef CLP_LINE_MAP_H
#define CLP_LINE_MAP_H

#include "base/mem.h"
#include <stdint.h>

#define CLP_NO_CELL UINT32_MAX

struct clp_line_map {
    int32_t lowest;
    uint32_t span;        /* how many lines from the lowest to the highest */
    uint32_t count;       /* how many of them have a cell */
    const int32_t *lines; /* ascending; behind `cells` in the same block of memory */
    uint32_t cells[];
};

/* Makes a map of these ascending lines. With `lines` NULL they follow one another from `lowest` on, which must be
 * lines[0] otherwise. NULL: no memory. Free the map with clp_line_map_free. */
struct clp_line_map *clp_line_map_new(struct clp_mem *mem, int32_t lowest, const int32_t *lines, uint32_t count);
void clp_line_map_free(struct clp_mem *mem, struct clp_line_map *map);

/* Returns the line's cell, or CLP_NO_CELL. */
static inline uint32_t clp_line_map_find(const struct clp_line_map *map, int32_t line)
{
    uint32_t place = (uint32_t)line - (uint32_t)map->lowest;

    return place < map->span ? map->cells[place] : CLP_NO_CELL;
}

#endif
