/* SPDX-License-Identifier: MIT */
#include "tallies.h"
#include <string.h>

/* A line that lasts so many times as long as a read hardly becomes longer. The reads behind shorter ones take half as long
 * as all lines, at most. A line that waited for a processor adds little, because reads take processor time. */
#define LONG_LINE 4
#define PART_OF_LINE 2
#define MOST_OF_LINE 8 /* the part of all that may be saved up */

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

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

bool clp_tallies_afford(struct clp_tally_budget *budget, uint64_t length, uint64_t cost)
{
    uint64_t more = smaller(length / PART_OF_LINE, budget->most / MOST_OF_LINE);

    budget->left = smaller(budget->left + more, budget->most);
    if (length / LONG_LINE >= cost) {
        budget->spent &= budget->left < budget->most / 2;
        return true;
    }
    budget->spent |= cost > budget->left;
    if (budget->spent)
        return false;
    budget->left -= cost;
    return true;
}

uint64_t clp_tallies_shortest(const struct clp_tally_budget *budget, uint64_t cost)
{
    return budget->spent ? LONG_LINE * cost : 0;
}
