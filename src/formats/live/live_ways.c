/* SPDX-License-Identifier: MIT */
#include "live_ways.h"
#include "engine/ways.h"
#include "live_threads.h"

static bool is_possible(const struct clp_ways *ways, const struct clp_way_from_to *way)
{
    return way->from < ways->node_count && way->to < ways->node_count &&
           (way->counter == CLP_WAY_DERIVED || way->counter < ways->counter_count);
}

/* Do the parts of the area fit into its bytes, and together? */
static bool are_possible(struct clp_ways *ways, size_t bytes)
{
    if (bytes < sizeof *ways || ways->way_count > bytes / sizeof ways->items[0] || ways->counter_count > ways->way_count ||
        ways->node_count > 2 * (uint64_t)ways->way_count + 1 || ways->node_count == 0 ||
        clp_ways_bytes(ways->node_count, ways->way_count) > bytes)
        return false;
    for (uint32_t i = 0; i < ways->way_count; i++) {
        if (!is_possible(ways, &ways->items[i]))
            return false;
    }
    return true;
}

/* A copy of the counters, in which none is so large that a sum of them reaches the end of its type. */
static uint64_t *limited(struct clp_live_reader *reader, const struct clp_ways *ways, const uint64_t *counters)
{
    struct clp_way_counters *made =
        clp_pool_take(&reader->engine.pool, sizeof *made + ways->counter_count * sizeof made->items[0]);
    uint64_t most = INT64_MAX / 8 / ((uint64_t)ways->way_count + 1);

    for (uint32_t i = 0; made != NULL && i < ways->counter_count; i++)
        made->items[i] = counters[i] < most ? counters[i] : most;
    return made != NULL ? made->items : NULL;
}

clp_status clp_live_take_ways(struct clp_live_reader *reader, struct clp_area *area, size_t bytes)
{
    struct clp_ways *ways = (struct clp_ways *)area;

    if (!are_possible(ways, bytes))
        return refuse(reader, CLP_CORRUPT, area, "counters of no code");
    const uint64_t *counters = clp_live_translate(reader, ways->counters, ways->counter_count * sizeof *counters);
    if (counters == NULL)
        return refuse(reader, CLP_CORRUPT, area, "counters that are not in the file");
    ways->counters = limited(reader, ways, counters);
    if (ways->counters == NULL)
        return no_memory(reader);
    ways->gone = 0; /* nothing is to be freed: it is the copy's */
    ways->next = reader->engine.ways;
    reader->engine.ways = ways;
    return CLP_OK;
}
