/* SPDX-License-Identifier: MIT */
#include "live_ways.h"
#include "engine/ways.h"

/* Counts above this are not ones of a real file. Sums of them stay within their type, however many ways there are. */
#define MOST_COUNT ((uint64_t)1 << 40)

static bool is_possible(const struct clp_ways *ways, const struct clp_way_from_to *way)
{
    return way->from < ways->node_count && way->to < ways->node_count &&
           (way->counter == CLP_WAY_DERIVED || way->counter < ways->counter_count);
}

/* Do the parts of the area fit into its bytes, and together? */
static bool are_possible(struct clp_ways *ways, size_t bytes)
{
    if (bytes < sizeof *ways || ways->counter_count > bytes / 8 || ways->way_count > bytes / sizeof(struct clp_way_from_to) ||
        ways->node_count > 2 * (uint64_t)ways->way_count + 1 || ways->node_count == 0 ||
        sizeof *ways + ways->counter_count * 8ull + ways->way_count * sizeof(struct clp_way_from_to) +
                ways->node_count * sizeof(uint32_t) > bytes)
        return false;
    for (uint32_t i = 0; i < ways->way_count; i++) {
        if (!is_possible(ways, &clp_ways_items(ways)[i]))
            return false;
    }
    return true;
}

clp_status clp_live_take_ways(struct clp_live_reader *reader, struct clp_area *area, size_t bytes)
{
    struct clp_ways *ways = (struct clp_ways *)area;

    if (!are_possible(ways, bytes))
        return refuse(reader, CLP_CORRUPT, area, "counters of no code");
    for (uint32_t i = 0; i < ways->counter_count; i++) {
        if (ways->counters[i] > MOST_COUNT)
            ways->counters[i] = MOST_COUNT;
    }
    ways->gone = 0; /* nothing is to be freed: it is the copy's */
    ways->next = reader->engine.ways;
    reader->engine.ways = ways;
    return CLP_OK;
}
