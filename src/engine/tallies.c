/* SPDX-License-Identifier: MIT */
#include "tallies.h"
#include <string.h>

uint32_t clp_tally_sources_named(const char *names)
{
    static const char *const known[] = {"io", "faults", "switches"};
    uint32_t sources = 0;

    while (*names != 0) {
        size_t bytes = strcspn(names, ","), i = 0;
        while (i < sizeof known / sizeof *known && (strncmp(known[i], names, bytes) != 0 || known[i][bytes] != 0))
            i++;
        if (i == sizeof known / sizeof *known)
            return CLP_TALLY_SOURCE_UNKNOWN;
        sources |= 1u << i;
        names += bytes;
        names += *names == ',';
    }
    return sources;
}

void clp_engine_set_tally_span(struct clp_engine *engine, uint64_t ticks)
{
    engine->tally_span = ticks;
    clp_engine_spread_spans(engine);
}

struct clp_tally_cell *clp_tallies_of_top(const struct clp_thread *thread)
{
    const struct clp_activation *top = thread->top;

    if (top->cell == &thread->outside || top->block->tallies == NULL)
        return NULL;
    return &top->block->tallies[clp_engine_line_index(top)];
}

void clp_tallies_note(struct clp_tally_cell *cell, enum clp_tally first, size_t count, const int64_t *values,
                      int64_t *last)
{
    for (size_t i = 0; i < count; i++) {
        if (cell != NULL)
            cell->sums[first + i] += values[i] - last[i];
        last[i] = values[i];
    }
}
