/* SPDX-License-Identifier: MIT */
#include "engine_copy.h"
#include "engine.h"
#include "threads.h"
#include <string.h>

static struct clp_block *copy_block(struct clp_engine_copy *copy, const struct clp_block *from)
{
    size_t bytes = clp_block_bytes(from->line_count, from->parts);
    struct clp_block *block = clp_pool_take(&copy->engine.pool, bytes);

    if (block == NULL)
        return NULL;
    memcpy((struct clp_area *)block + 1, (const struct clp_area *)from + 1,
           bytes - sizeof(struct clp_area));
    block->latest = NULL;
    clp_block_place_parts(block);
    return block;
}

/* The copied thread's block for the function of `from`, made if need be. NULL: no memory. */
static struct clp_block *block_in(struct clp_engine_copy *copy, struct clp_thread *twin,
                                  const struct clp_block *from)
{
    struct clp_block **place = &twin->blocks[from->function];

    if (*place == NULL)
        *place = copy_block(copy, from);
    return *place;
}

/* Nodes for the calls that run, which the copied bodies add to as they end. NULL: no memory. */
static struct clp_engine_copy_calls *copy_calls(struct clp_engine_copy *copy, const struct clp_thread *from,
                                                size_t depth)
{
    struct clp_engine_copy_calls *calls =
        clp_pool_take(&copy->engine.pool, sizeof *calls + depth * sizeof calls->items[0]);

    if (calls == NULL)
        return NULL;
    calls->count = depth;
    for (size_t i = 0; i < depth; i++)
        calls->items[i].home = from->stack[i + 1].call;
    return calls;
}

static bool copy_stack(struct clp_engine_copy *copy, struct clp_thread *twin,
                       const struct clp_thread *from)
{
    size_t depth = (size_t)(from->top - from->stack);
    struct clp_engine_copy_calls *calls = copy_calls(copy, from, depth);

    copy->threads[copy->count - 1].calls = calls;
    if (calls == NULL || !clp_engine_reserve(twin, depth + 1))
        return false;
    twin->stack[0] = from->stack[0];
    twin->stack[0].cell = &twin->outside;
    for (size_t i = 1; i <= depth; i++) {
        const struct clp_activation *at = &from->stack[i];
        struct clp_block *block = block_in(copy, twin, at->block);
        if (block == NULL)
            return false;
        struct clp_activation *top = ++twin->top;
        *top = *at;
        top->block = block;
        top->cell = at->cell == &from->outside ? &twin->outside
                                               : block->cells + (at->cell - at->block->cells);
        top->suspended = NULL; /* the record of a suspension stays with the original body */
        top->call = &calls->items[i - 1];
    }
    return true;
}

static void copy_state(struct clp_thread *twin, const struct clp_thread *from)
{
    clp_engine_copy_clock(twin, from);
    twin->rss = from->rss;
    twin->last_rss = from->last_rss;
    twin->outside = from->outside;
}

static bool copy_thread(struct clp_engine_copy *copy, const struct clp_thread *from)
{
    struct clp_mem *mem = copy->engine.mem;
    struct clp_thread *twin;

    if (copy->count == copy->room &&
        clp_mem_grow(mem, (void **)&copy->threads, &copy->room, copy->room * 2 + 4,
                     sizeof *copy->threads) != CLP_OK)
        return false;
    twin = clp_engine_new_thread(&copy->engine, from->last, 0);
    if (twin == NULL)
        return false;
    copy_state(twin, from);
    if (clp_mem_grow(mem, (void **)&twin->blocks, &twin->block_room, from->block_room,
                     sizeof *twin->blocks) != CLP_OK)
        return false;
    copy->threads[copy->count++] = (struct clp_engine_copy_thread){.from = from, .copy = twin};
    return copy_stack(copy, twin, from);
}

clp_status clp_engine_copy_init(struct clp_engine_copy *copy, const struct clp_engine *engine,
                          struct clp_pool *pool, uint64_t now)
{
    *copy = (struct clp_engine_copy){.from = engine, .pool = pool};
    clp_engine_init(&copy->engine, engine->mem, NULL);
    copy->engine.pool = *pool;
    copy->engine.costs = engine->costs;
    copy->engine.parts = engine->parts;
    for (const struct clp_thread *from = engine->threads; from != NULL; from = from->next) {
        if (from->top != from->stack && !copy_thread(copy, from)) {
            clp_engine_copy_clear(copy);
            return CLP_NO_MEMORY;
        }
    }
    for (size_t i = 0; i < copy->count; i++)
        clp_engine_unwind(copy->threads[i].copy, now);
    return CLP_OK;
}

void clp_engine_copy_clear(struct clp_engine_copy *copy)
{
    for (size_t i = 0; i < copy->count; i++)
        if (copy->threads[i].calls != NULL)
            clp_pool_give(&copy->engine.pool, copy->threads[i].calls);
    clp_mem_free(copy->engine.mem, copy->threads, copy->room, sizeof *copy->threads);
    clp_engine_clear_threads(&copy->engine);
    *copy->pool = copy->engine.pool;
    *copy = (struct clp_engine_copy){0};
}

static const struct clp_block *block_of(const struct clp_thread *thread, uint32_t function)
{
    return clp_engine_has_block(thread, function) ? thread->blocks[function] : NULL;
}

static bool is_wanted(const struct clp_engine_copy *copy, const struct clp_thread *thread)
{
    return copy->group == NULL || *copy->group == thread->group;
}

void clp_engine_copy_merge(const struct clp_engine_copy *copy, struct clp_block *sum)
{
    uint32_t function = sum->function;
    const struct clp_block *block;
    size_t next = 0;

    for (const struct clp_thread *thread = copy->from->threads; thread != NULL;
         thread = thread->next) {
        block = NULL;
        if (next < copy->count && copy->threads[next].from == thread)
            block = block_of(copy->threads[next++].copy, function);
        if (block == NULL)
            block = block_of(thread, function);
        if (block != NULL && is_wanted(copy, thread))
            clp_block_merge(sum, block);
    }
    for (const struct clp_thread *gone = copy->from->ended; gone != NULL; gone = gone->next)
        if ((block = block_of(gone, function)) != NULL && is_wanted(copy, gone))
            clp_block_merge(sum, block);
}

/* Adds what the running calls of the thread add to the nodes of this function. */
static void add_running(const struct clp_engine_copy_thread *thread, struct clp_call_sums *sums)
{
    for (size_t i = 0; i < thread->calls->count; i++) {
        const struct clp_call *call = &thread->calls->items[i];
        if (call->home->function == sums->function)
            clp_call_counts_add(&clp_call_sums_find(sums, call->home->id)->counts, &call->counts);
    }
}

struct clp_call_sums *clp_engine_copy_calls(const struct clp_engine_copy *copy, uint32_t function,
                                            struct clp_pool *pool)
{
    struct clp_call_sums *sums = clp_call_sums_new(&copy->from->calls, function, pool);

    for (uint32_t i = 0; sums != NULL && i < sums->count; i++)
        sums->items[i].counts = sums->items[i].call->counts;
    for (size_t i = 0; sums != NULL && i < copy->count; i++)
        add_running(&copy->threads[i], sums);
    return sums;
}
