/* SPDX-License-Identifier: MIT */
#include "ways.h"
#include "threads.h"
#include "view.h"
#include <stdlib.h>
#include <string.h>

#define SOME 256        /* are settled in no time */
#define AREA_BYTES 4096 /* of counters */

/* ---- counters ---- */

static struct clp_way_counters *new_counters(struct clp_engine *engine, uint32_t count)
{
    struct clp_way_counters *made;
    size_t wanted = sizeof *made + count * sizeof made->items[0], bytes = wanted > AREA_BYTES ? wanted : AREA_BYTES;

    made = clp_pool_take(&engine->pool, bytes);
    if (made == NULL)
        return NULL;
    made->room = (uint32_t)((bytes - sizeof *made) / sizeof made->items[0]);
    clp_area_set_kind(&made->area, CLP_AREA_WAY_COUNTERS);
    return made;
}

static void give_back_counters(struct clp_engine *engine, struct clp_way_counters *shared)
{
    if (--shared->held > 0)
        return;
    if (engine->way_counters == shared)
        engine->way_counters = NULL;
    clp_pool_give(&engine->pool, shared);
}

static bool take_counters(struct clp_engine *engine, struct clp_ways *ways, uint32_t count)
{
    struct clp_way_counters *shared = engine->way_counters;

    if (shared == NULL || shared->room - shared->used < count)
        shared = new_counters(engine, count);
    if (shared == NULL)
        return false;
    engine->way_counters = shared;
    ways->shared = shared;
    ways->counters = shared->items + shared->used;
    ways->counter_count = count;
    shared->used += count;
    shared->held++;
    return true;
}

struct clp_ways *clp_ways_new(struct clp_engine *engine, uint32_t function, uint32_t nodes, uint32_t ways, uint32_t counters)
{
    struct clp_ways *made = clp_pool_take(&engine->pool, clp_ways_bytes(nodes, ways));

    if (made == NULL)
        return NULL;
    if (!take_counters(engine, made, counters)) {
        clp_pool_give(&engine->pool, made);
        return NULL;
    }
    made->function = UINT32_MAX;
    made->next_version = NULL;
    made->node_count = nodes;
    made->way_count = ways;
    memset(clp_ways_ran(made), 0, nodes * sizeof(uint32_t));
    made->next = engine->ways;
    engine->ways = made;
    engine->ways_new++;
    clp_ways_begin(engine, made, function);
    return made;
}

/* ---- by function ---- */

static struct clp_ways *first_version(const struct clp_engine *engine, uint32_t function)
{
    uint64_t first = 0;

    (void)clp_hashmap_get(&engine->ways_of, function, &first);
    return (struct clp_ways *)(uintptr_t)first;
}

void clp_ways_begin(struct clp_engine *engine, struct clp_ways *ways, uint32_t function)
{
    if (ways->function == function)
        return;
    ways->function = function;
    ways->next_version = first_version(engine, function);
    if (clp_hashmap_set(&engine->ways_of, function, (uintptr_t)ways) != CLP_OK)
        engine->ways_unknown = true;
}

static void forget_version(struct clp_engine *engine, const struct clp_ways *ways)
{
    struct clp_ways *version = first_version(engine, ways->function);
    uint64_t first;

    if (version == ways && ways->next_version == NULL)
        (void)clp_hashmap_take(&engine->ways_of, ways->function, &first);
    else if (version == ways)
        (void)clp_hashmap_set(&engine->ways_of, ways->function, (uintptr_t)ways->next_version); /* has the key */
    for (; version != NULL; version = version->next_version)
        if (version->next_version == ways)
            version->next_version = ways->next_version;
}

/* ---- what flows ---- */

/* How often the way was gone. excess[node]: how much more has flowed into the node than out of it, by the ways that are left;
 * at first the bodies that run in it. */
static uint64_t take_way(const struct clp_ways *ways, const struct clp_way_from_to *way, int64_t *excess)
{
    int64_t flow = way->counter != CLP_WAY_DERIVED  ? (int64_t)ways->counters[way->counter]
                   : way->flags & CLP_WAY_BY_FROM ? -excess[way->from]
                                                  : excess[way->to];

    excess[way->from] += flow;
    excess[way->to] -= flow;
    return flow > 0 ? (uint64_t)flow : 0;
}

/* Counts calls from anywhere: nobody looks who calls. */
static void count_calls(struct clp_thread *thread, uint32_t function, uint64_t more)
{
    struct clp_calls *calls = &thread->engine->calls;

    clp_calls_find(calls, clp_calls_root(calls, thread->group), 0, function)->counts.calls += more;
}

/* Gives the line, and the function's calls, what they have not got yet of the way. A way that seems to be gone less often
 * than before is one of a body that ran when the counters were read without knowing that. A function that the engine does
 * not have gets nothing, nor does one that no view counts at the moment. */
static clp_status give(struct clp_thread *thread, uint32_t function, struct clp_way_from_to *way, uint64_t gone)
{
    const struct clp_engine *engine = thread->engine;

    if (gone <= way->given)
        return CLP_OK;
    if (function < engine->functions.count && (engine->views == NULL || clp_views_count(engine->views, function))) {
        struct clp_block *block = clp_engine_block(thread, function);
        if (block == NULL)
            return CLP_NO_MEMORY;
        if (way->cell < block->line_count)
            block->cells[way->cell].hits += gone - way->given;
        if (way->flags & CLP_WAY_CALLS)
            count_calls(thread, function, gone - way->given);
    }
    way->given = gone;
    return CLP_OK;
}

static clp_status settle(struct clp_thread *thread, struct clp_ways *ways, int64_t *excess)
{
    struct clp_way_from_to *items = ways->items;
    clp_status status = CLP_OK;

    for (uint32_t i = 0; i < ways->way_count; i++) {
        if (give(thread, ways->function, &items[i], take_way(ways, &items[i], excess)) != CLP_OK)
            status = CLP_NO_MEMORY;
    }
    return status;
}

/* ---- all code objects ---- */

static int by_ways(const void *one, const void *other)
{
    uintptr_t a = (uintptr_t)((const struct clp_ways_running *)one)->ways;
    uintptr_t b = (uintptr_t)((const struct clp_ways_running *)other)->ways;

    return a < b ? -1 : a > b;
}

static clp_status settle_one(struct clp_thread *thread, struct clp_ways *ways)
{
    const uint32_t *ran = clp_ways_ran(ways);
    struct clp_mem *mem = thread->engine->mem;
    int64_t *excess = clp_mem_alloc(mem, ways->node_count, sizeof *excess);

    if (excess == NULL)
        return CLP_NO_MEMORY;
    for (uint32_t i = 0; i < ways->node_count; i++) {
        excess[i] += ran[i];
        excess[0] -= ran[i];
    }
    clp_status status = settle(thread, ways, excess);
    clp_mem_free(mem, excess, ways->node_count, sizeof *excess);
    return status;
}

static void note_running(struct clp_ways *ways, const struct clp_ways_running *running, size_t count)
{
    memset(clp_ways_ran(ways), 0, ways->node_count * sizeof(uint32_t));
    for (size_t i = 0; i < count && running[i].ways == ways; i++)
        clp_ways_ran(ways)[running[i].node]++;
}

static clp_status settle_running(struct clp_thread *thread, struct clp_ways *ways, const struct clp_ways_running *running,
                                 size_t count)
{
    struct clp_ways_running wanted = {.ways = ways};
    const struct clp_ways_running *first = count > 0 ? bsearch(&wanted, running, count, sizeof wanted, by_ways) : NULL;

    while (first != NULL && first > running && first[-1].ways == ways)
        first--;
    note_running(ways, first, first != NULL ? (size_t)(running + count - first) : 0);
    return settle_one(thread, ways);
}

/* Gives the ways back if their code object is gone. Returns the link to the next ones. */
static struct clp_ways **leave_gone(struct clp_engine *engine, struct clp_ways **link)
{
    struct clp_ways *ways = *link;

    if (ways->gone == 0)
        return &ways->next;
    *link = ways->next;
    forget_version(engine, ways);
    give_back_counters(engine, ways->shared);
    clp_pool_give(&engine->pool, ways);
    return link;
}

static clp_status settle_all(struct clp_thread *thread, const struct clp_ways_running *running, size_t count)
{
    struct clp_engine *engine = thread->engine;
    clp_status status = CLP_OK;
    size_t kept = 0;

    for (struct clp_ways **link = &engine->ways, **next; *link != NULL; link = next) {
        clp_status one = settle_running(thread, *link, running, count);
        if (one != CLP_OK)
            status = one;
        next = one == CLP_OK ? leave_gone(engine, link) : &(*link)->next;
        kept += next != link;
    }
    engine->ways_kept = kept;
    engine->ways_new = 0;
    return status;
}

clp_status clp_ways_settle(struct clp_thread *thread, const uint32_t *function, struct clp_ways_running *running,
                           size_t count)
{
    clp_status status = CLP_OK;

    if (count > 0)
        qsort(running, count, sizeof *running, by_ways);
    if (function == NULL || thread->engine->ways_unknown)
        return settle_all(thread, running, count);
    for (struct clp_ways *ways = first_version(thread->engine, *function); ways != NULL; ways = ways->next_version)
        if (settle_running(thread, ways, running, count) != CLP_OK)
            status = CLP_NO_MEMORY;
    return status;
}

clp_status clp_ways_settle_last(struct clp_thread *thread)
{
    clp_status status = CLP_OK;

    for (struct clp_ways *ways = thread->engine->ways; ways != NULL; ways = ways->next)
        if (settle_one(thread, ways) != CLP_OK)
            status = CLP_NO_MEMORY;
    return status;
}

clp_status clp_ways_count(const struct clp_engine *engine, const struct clp_ways *ways, uint32_t cell,
                          struct clp_ways_counts *counts)
{
    int64_t *excess = clp_mem_alloc(engine->mem, ways->node_count, sizeof *excess);

    if (excess == NULL)
        return CLP_NO_MEMORY;
    *counts = (struct clp_ways_counts){0};
    for (uint32_t i = 0; i < ways->way_count; i++) {
        uint64_t gone = take_way(ways, &ways->items[i], excess);
        counts->calls += ways->items[i].flags & CLP_WAY_CALLS ? gone : 0;
        counts->hits += ways->items[i].cell == cell ? gone : 0;
    }
    clp_mem_free(engine->mem, excess, ways->node_count, sizeof *excess);
    return CLP_OK;
}

bool clp_ways_has(const struct clp_engine *engine, uint32_t function)
{
    return engine->ways_unknown || first_version(engine, function) != NULL;
}

bool clp_ways_pile_up(const struct clp_engine *engine)
{
    return engine->ways_new > engine->ways_kept + SOME;
}
