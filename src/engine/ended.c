/* SPDX-License-Identifier: MIT */
#include "ended.h"
#include "engine.h"
#include "threads.h"
#include <string.h>

static struct clp_block *copy_block(struct clp_ended *ended, const struct clp_block *from)
{
    bool with_rss = from->rss != NULL;
    size_t bytes = clp_block_bytes(from->line_count, with_rss);
    struct clp_block *block = clp_pool_take(&ended->engine.pool, bytes);

    if (block == NULL)
        return NULL;
    memcpy((struct clp_area *)block + 1, (const struct clp_area *)from + 1,
           bytes - sizeof(struct clp_area));
    block->latest = NULL;
    clp_block_place_memory(block, with_rss);
    return block;
}

/* The copy's block in place of the thread's. NULL: no memory. */
static struct clp_block *block_in(struct clp_ended *ended, struct clp_thread *copy,
                                  const struct clp_block *from)
{
    struct clp_block **place = &copy->blocks[from->function];

    if (*place == NULL)
        *place = copy_block(ended, from);
    return *place;
}

static bool copy_stack(struct clp_ended *ended, struct clp_thread *copy,
                       const struct clp_thread *from)
{
    size_t depth = (size_t)(from->top - from->stack);

    if (!clp_engine_reserve(copy, depth + 1))
        return false;
    copy->stack[0] = from->stack[0];
    copy->stack[0].cell = &copy->outside;
    for (size_t i = 1; i <= depth; i++) {
        const struct clp_activation *at = &from->stack[i];
        struct clp_block *block = block_in(ended, copy, at->block);
        if (block == NULL)
            return false;
        struct clp_activation *top = ++copy->top;
        *top = *at;
        top->block = block;
        top->cell = at->cell == &from->outside ? &copy->outside
                                               : block->cells + (at->cell - at->block->cells);
        top->suspended = NULL; /* the record stays the body's */
    }
    return true;
}

static void copy_state(struct clp_thread *copy, const struct clp_thread *from)
{
    clp_engine_copy_clock(copy, from);
    copy->rss = from->rss;
    copy->last_rss = from->last_rss;
    copy->outside = from->outside;
}

static bool copy_thread(struct clp_ended *ended, const struct clp_thread *from)
{
    struct clp_mem *mem = ended->engine.mem;
    struct clp_thread *copy;

    if (ended->count == ended->room &&
        clp_mem_grow(mem, (void **)&ended->threads, &ended->room, ended->room * 2 + 4,
                     sizeof *ended->threads) != CLP_OK)
        return false;
    copy = clp_engine_new_thread(&ended->engine, from->last, 0);
    if (copy == NULL)
        return false;
    copy_state(copy, from);
    if (clp_mem_grow(mem, (void **)&copy->blocks, &copy->block_room, from->block_room,
                     sizeof *copy->blocks) != CLP_OK)
        return false;
    ended->threads[ended->count++] = (struct clp_ended_thread){from, copy};
    return copy_stack(ended, copy, from);
}

clp_status clp_ended_init(struct clp_ended *ended, const struct clp_engine *engine,
                          struct clp_pool *pool, uint64_t now)
{
    *ended = (struct clp_ended){.from = engine, .pool = pool};
    clp_engine_init(&ended->engine, engine->mem, NULL);
    ended->engine.pool = *pool;
    ended->engine.costs = engine->costs;
    ended->engine.with_rss = engine->with_rss;
    for (const struct clp_thread *from = engine->threads; from != NULL; from = from->next) {
        if (from->top != from->stack && !copy_thread(ended, from)) {
            clp_ended_clear(ended);
            return CLP_NO_MEMORY;
        }
    }
    for (size_t i = 0; i < ended->count; i++)
        clp_engine_unwind(ended->threads[i].copy, now);
    return CLP_OK;
}

void clp_ended_clear(struct clp_ended *ended)
{
    clp_mem_free(ended->engine.mem, ended->threads, ended->room, sizeof *ended->threads);
    clp_engine_clear_threads(&ended->engine);
    *ended->pool = ended->engine.pool;
    *ended = (struct clp_ended){0};
}

static const struct clp_block *block_of(const struct clp_thread *thread, uint32_t function)
{
    return clp_engine_has_block(thread, function) ? thread->blocks[function] : NULL;
}

static bool is_wanted(const struct clp_ended *ended, const struct clp_thread *thread)
{
    return ended->group == NULL || *ended->group == thread->group;
}

void clp_ended_merge(const struct clp_ended *ended, struct clp_block *sum)
{
    uint32_t function = sum->function;
    const struct clp_block *block;
    size_t next = 0;

    for (const struct clp_thread *thread = ended->from->threads; thread != NULL;
         thread = thread->next) {
        block = NULL;
        if (next < ended->count && ended->threads[next].from == thread)
            block = block_of(ended->threads[next++].copy, function);
        if (block == NULL)
            block = block_of(thread, function);
        if (block != NULL && is_wanted(ended, thread))
            clp_block_merge(sum, block);
    }
    for (const struct clp_thread *gone = ended->from->ended; gone != NULL; gone = gone->next)
        if ((block = block_of(gone, function)) != NULL && is_wanted(ended, gone))
            clp_block_merge(sum, block);
}
