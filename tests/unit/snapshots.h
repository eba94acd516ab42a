/* SPDX-License-Identifier: MIT */
/* A profile of all that an engine has counted, for tests that have no view. */
#ifndef CLP_TEST_SNAPSHOTS_H
#define CLP_TEST_SNAPSHOTS_H

#include "profile/snapshot.h"
#include <stdlib.h>

/* What is still on a stack has self time up to its thread's last event, but no time and no total yet.
 * The engine is left alone. */
static inline clp_status test_snapshot_take(struct clp_engine *engine, double nanos_per_tick,
                                            struct clp_profile *profile)
{
    const struct clp_engine_copy ended = {.from = engine};
    struct clp_pages pages = {0};
    struct clp_views views;

    clp_views_init(&views, engine, &pages);
    struct clp_view view = {.views = &views, .count = engine->functions.count, .counting = 1};
    view.items = calloc(view.count + 1, sizeof *view.items);
    if (view.items == NULL)
        return CLP_NO_MEMORY;
    for (uint32_t i = 0; i < view.count; i++)
        view.items[i] = (struct clp_view_item){.function = i, .attached = true};
    const struct clp_snapshot_wish wish = {.parts = engine->parts,
                                           .cpu = engine->cpu_span != UINT64_MAX,
                                           .tallies = engine->parts & CLP_PART_TALLIES ? ~0u : 0,
                                           .called = (engine->parts & CLP_PART_CALLED) != 0,
                                           .nanos_per_tick = nanos_per_tick};
    clp_status status = clp_snapshot_take_view(&view, &ended, &wish, profile);
    free(view.items);
    clp_views_clear(&views);
    return status;
}

#endif
