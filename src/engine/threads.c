/* SPDX-License-Identifier: MIT */
#include "threads.h"
#include "resident.h"
#include <string.h>

#define FIRST_STACK_ROOM 64

/* ---- making threads ---- */

static struct clp_activation *new_stack(struct clp_engine *engine, size_t room)
{
    struct clp_area *area =
        clp_pool_take(&engine->pool, CLP_STACK_HEAD + room * sizeof(struct clp_activation));

    if (area == NULL)
        return NULL;
    clp_area_set_kind(area, CLP_AREA_STACK);
    return (struct clp_activation *)((char *)area + CLP_STACK_HEAD);
}

static void free_stack(struct clp_engine *engine, struct clp_activation *stack)
{
    clp_pool_give(&engine->pool, (char *)stack - CLP_STACK_HEAD);
}

void clp_engine_free_thread(struct clp_thread *thread)
{
    struct clp_engine *engine = thread->engine;

    for (size_t i = 0; i < thread->block_room; i++) {
        if (thread->blocks[i] != NULL)
            clp_block_free(&engine->pool, thread->blocks[i]);
    }
    clp_mem_free(engine->mem, thread->blocks, thread->block_room, sizeof(struct clp_block *));
    free_stack(engine, thread->stack);
    clp_pool_give(&engine->pool, thread);
}

struct clp_thread *clp_engine_make_thread(struct clp_engine *engine)
{
    struct clp_thread *thread = clp_pool_take(&engine->pool, sizeof *thread);

    if (thread == NULL)
        return NULL;
    thread->engine = engine;
    thread->stack = new_stack(engine, FIRST_STACK_ROOM);
    if (thread->stack == NULL) {
        clp_pool_give(&engine->pool, thread);
        return NULL;
    }
    thread->stack_room = FIRST_STACK_ROOM;
    clp_engine_begin_costs(thread);
    thread->last_activation = thread->stack + thread->stack_room - 1;
    thread->outside.open = 1;
    thread->top = thread->stack;
    thread->top->cell = &thread->outside;
    thread->top->call = &engine->calls.start;
    clp_area_set_kind(&thread->area, CLP_AREA_THREAD);
    return thread;
}

struct clp_thread *clp_engine_new_thread(struct clp_engine *engine, uint64_t now, int64_t rss)
{
    struct clp_thread *thread = clp_engine_make_thread(engine);

    if (thread == NULL) {
        engine->lost = true;
        return NULL;
    }
    thread->last = now;
    clp_engine_begin_rss(thread, rss);
    thread->gc_outside = engine->gc_before;
    engine->gc_before = (struct clp_gc_cell){0};
    thread->next = engine->threads;
    engine->threads = thread;
    return thread;
}

bool clp_engine_reserve(struct clp_thread *thread, size_t room)
{
    size_t depth = (size_t)(thread->top - thread->stack);
    struct clp_activation *old = thread->stack, *stack;

    if (room <= thread->stack_room)
        return true;
    stack = new_stack(thread->engine, room);
    if (stack == NULL)
        return false;
    memcpy(stack, old, thread->stack_room * sizeof *stack);
    thread->stack_room = room;
    thread->stack = stack;
    thread->top = stack + depth;
    thread->last_activation = stack + thread->stack_room - 1;
    free_stack(thread->engine, old);
    return true;
}

struct clp_block *clp_engine_block(struct clp_thread *thread, uint32_t function)
{
    struct clp_engine *engine = thread->engine;

    if (CLP_LIKELY(clp_engine_has_block(thread, function)))
        return thread->blocks[function];
    if (function >= thread->block_room) {
        size_t room = thread->block_room * 2 > function ? thread->block_room * 2 : function + 16u;
        if (clp_mem_grow(engine->mem, (void **)&thread->blocks, &thread->block_room, room,
                         sizeof(struct clp_block *)) != CLP_OK)
            return NULL;
    }
    thread->blocks[function] = clp_block_new(&engine->pool, &engine->functions.items[function],
                                             function, engine->parts);
    return thread->blocks[function];
}

/* ---- all threads ---- */

static void add_totals(struct clp_engine_totals *totals, const struct clp_thread *thread)
{
    clp_engine_add_total(&totals->correction, thread->correction);
    totals->stopped += thread->stopped;
    totals->reads += thread->reads;
    clp_engine_add_total(&totals->others_grown, thread->others_grown);
    clp_engine_add_total(&totals->others_released, thread->others_released);
    clp_gc_add(&totals->gc_outside, thread->gc_outside);
}

void clp_engine_sum(const struct clp_engine *engine, struct clp_engine_totals *totals)
{
    *totals = (struct clp_engine_totals){.gc_outside = engine->gc_before};
    if (engine->tensors != NULL)
        memcpy(totals->tensors_outside, engine->tensors->cells, sizeof totals->tensors_outside);
    for (const struct clp_thread *thread = engine->threads; thread != NULL; thread = thread->next)
        add_totals(totals, thread);
    for (const struct clp_thread *ended = engine->ended; ended != NULL; ended = ended->next)
        add_totals(totals, ended);
}

static void free_threads(struct clp_thread **list)
{
    struct clp_thread *next;

    for (struct clp_thread *thread = *list; thread != NULL; thread = next) {
        next = thread->next;
        clp_engine_free_thread(thread);
    }
    *list = NULL;
}

void clp_engine_clear_threads(struct clp_engine *engine)
{
    free_threads(&engine->threads);
    free_threads(&engine->ended);
}
