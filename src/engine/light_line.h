/* SPDX-License-Identifier: MIT */
/* What light.h and light_memory.h ask of the line on top. */
#ifndef CLP_LIGHT_LINE_H
#define CLP_LIGHT_LINE_H

#include "hot.h"

/* The cell of the line on top. */
static inline struct clp_light_cell *clp_light_cell_of_top(struct clp_thread *thread)
{
    const struct clp_activation *top = thread->top;

    if (top->cell == &thread->outside || top->block->light == NULL)
        return &thread->light.outside;
    return &top->block->light[clp_engine_line_index(top)];
}

/* Has an interval or a stay of so many ticks of the thread's own clock certainly lasted most of that time? It is long beside
 * what lies between two ticks, also where these come late. */
static inline bool clp_light_is_long(const struct clp_light *light, uint64_t ticks)
{
    return ticks >= light->long_stay && ticks / 4 >= __atomic_load_n(&light->ticks->apart, __ATOMIC_RELAXED);
}

#endif
