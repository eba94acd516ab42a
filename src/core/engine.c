/* SPDX-License-Identifier: MIT */
#include "engine.h"
#include <string.h>

#define FIRST_STACK_ROOM 64

/* A body that is suspended, and where. */
struct clp_suspended {
    struct clp_suspended *next_free;
    uint32_t function;
    uint32_t line;
    bool on_line;     /* had its first line begun? */
    uint64_t carried; /* ticks of the line's execution so far */
    uint64_t since;   /* the clock itself: it may resume in a thread with another standstill */
};

void clp_engine_init(struct clp_engine *engine, struct clp_mem *mem, struct clp_pages *pages)
{
    *engine = (struct clp_engine){.mem = mem};
    clp_functions_init(&engine->functions, mem);
    clp_pool_init(&engine->pool, pages);
    clp_hashmap_init(&engine->suspended, mem);
}

/* ---- threads ---- */

static void free_thread(struct clp_thread *thread)
{
    struct clp_mem *mem = thread->engine->mem;

    for (size_t i = 0; i < thread->block_room; i++) {
        if (thread->blocks[i] != NULL)
            clp_block_free(&thread->engine->pool, thread->blocks[i]);
    }
    clp_mem_free(mem, thread->blocks, thread->block_room, sizeof(struct clp_block *));
    clp_mem_free(mem, thread->stack, thread->stack_room, sizeof(struct clp_activation));
    clp_mem_free(mem, thread, 1, sizeof *thread);
}

static struct clp_thread *new_thread(struct clp_engine *engine)
{
    struct clp_thread *thread = clp_mem_alloc(engine->mem, 1, sizeof *thread);

    if (thread == NULL)
        return NULL;
    thread->engine = engine;
    if (clp_mem_grow(engine->mem, (void **)&thread->stack, &thread->stack_room, FIRST_STACK_ROOM,
                     sizeof(struct clp_activation)) != CLP_OK) {
        clp_mem_free(engine->mem, thread, 1, sizeof *thread);
        return NULL;
    }
    thread->top = thread->stack;
    thread->top->cell = &thread->outside;
    return thread;
}

struct clp_thread *clp_engine_new_thread(struct clp_engine *engine, uint64_t now, int64_t rss)
{
    struct clp_thread *thread = new_thread(engine);

    if (thread == NULL) {
        engine->lost = true;
        return NULL;
    }
    thread->last = now;
    thread->rss = thread->last_rss = rss;
    thread->next = engine->threads;
    engine->threads = thread;
    return thread;
}

static bool lose(struct clp_thread *thread)
{
    thread->broken = true;
    thread->engine->lost = true;
    return false;
}

static struct clp_block *block_for(struct clp_thread *thread, uint32_t function)
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
                                             function, engine->with_rss);
    return thread->blocks[function];
}

void clp_engine_reap(struct clp_engine *engine)
{
    struct clp_thread **link = &engine->threads;

    while (*link != NULL) {
        struct clp_thread *thread = *link;
        if (!thread->ended) {
            link = &thread->next;
            continue;
        }
        if (engine->ended == NULL && (engine->ended = new_thread(engine)) == NULL)
            return; /* it stays in the list; nothing is lost */
        for (uint32_t i = 0; i < thread->block_room; i++) {
            struct clp_block *into;
            if (thread->blocks[i] == NULL)
                continue;
            if ((into = block_for(engine->ended, i)) == NULL)
                return;
            clp_block_merge(into, thread->blocks[i]);
            clp_block_free(&engine->pool, thread->blocks[i]);
            thread->blocks[i] = NULL;
        }
        engine->ended->correction += thread->correction;
        engine->ended->stopped += thread->stopped;
        engine->ended->reads += thread->reads;
        *link = thread->next;
        free_thread(thread);
    }
}

/* ---- the stack ---- */

static struct clp_activation *push(struct clp_thread *thread, struct clp_block *block,
                                   const void *frame)
{
    size_t depth = (size_t)(thread->top - thread->stack) + 1;

    if (CLP_UNLIKELY(depth == thread->stack_room)) {
        if (clp_mem_grow(thread->engine->mem, (void **)&thread->stack, &thread->stack_room,
                         depth * 2, sizeof(struct clp_activation)) != CLP_OK)
            return NULL;
        thread->top = thread->stack + depth - 1;
    }
    thread->top->cell->open++;
    thread->top++;
    *thread->top = (struct clp_activation){
        .frame = frame,
        .block = block,
        .cell = &thread->outside,
        .start = thread->last,
        .start_correction = thread->correction,
        .start_rss = thread->rss,
        .entered = thread->last,
        .entered_correction = thread->correction,
    };
    block->running++;
    return thread->top;
}

/* Ends the interval on top, starts one for a body of the function above it. NULL: not recorded. */
static struct clp_activation *go_in(struct clp_thread *thread, uint32_t function,
                                    const void *frame, uint64_t now, uint64_t half_cost)
{
    struct clp_block *block;
    struct clp_activation *top;

    if (CLP_UNLIKELY(thread->broken))
        return NULL;
    block = block_for(thread, function);
    if (CLP_UNLIKELY(block == NULL)) {
        lose(thread);
        return NULL;
    }
    thread->correction += half_cost;
    clp_engine_flush_self(thread, now - thread->stopped);
    top = push(thread, block, frame);
    if (CLP_UNLIKELY(top == NULL)) {
        lose(thread);
        return NULL;
    }
    thread->correction += half_cost;
    return top;
}

/* Ends the interval and the stay of the body on top and takes it off. */
static void go_out(struct clp_thread *thread, uint64_t now, uint64_t half_cost)
{
    struct clp_activation *top = thread->top;
    struct clp_block *block = top->block;
    uint64_t at = now - thread->stopped;

    thread->correction += half_cost;
    clp_engine_flush_self(thread, at);
    if (top->cell != &thread->outside)
        clp_engine_end_stay(thread, at);
    if (--block->running == 0) {
        block->total += at - top->entered;
        block->total_correction += thread->correction - top->entered_correction;
    }
    thread->top--;
    thread->top->cell->open--;
    thread->correction += half_cost;
}

void clp_engine_note_rss_change(struct clp_rss_cell *cell, int64_t change)
{
    int64_t size = change < 0 ? -change : change;
    int64_t largest = cell->largest < 0 ? -cell->largest : cell->largest;

    if (change > 0)
        cell->grown += change;
    else
        cell->released -= change;
    if (size > largest)
        cell->largest = change;
}

/* ---- suspended bodies ---- */

static uint64_t key_of(const void *frame)
{
    return (uint64_t)(uintptr_t)frame;
}

static void free_suspended(struct clp_engine *engine, struct clp_suspended *record)
{
    record->next_free = engine->free_suspended;
    engine->free_suspended = record;
}

static void forget_suspended(struct clp_engine *engine, const void *frame)
{
    uint64_t found;

    if (clp_hashmap_take(&engine->suspended, key_of(frame), &found))
        free_suspended(engine, (struct clp_suspended *)(uintptr_t)found);
}

static struct clp_suspended *new_suspended(struct clp_engine *engine, const void *frame)
{
    struct clp_suspended *record = engine->free_suspended;

    if (record != NULL)
        engine->free_suspended = record->next_free;
    else
        record = clp_mem_alloc(engine->mem, 1, sizeof *record);
    if (record == NULL)
        return NULL;
    if (clp_hashmap_set(&engine->suspended, key_of(frame), (uint64_t)(uintptr_t)record) != CLP_OK) {
        free_suspended(engine, record);
        return NULL;
    }
    return record;
}

/* ---- events ---- */

/* A body that begins or resumes is not running yet: if it is on top, its exit was not told. */
static void drop_stale(struct clp_thread *thread, const void *frame, uint64_t now)
{
    if (CLP_UNLIKELY(thread->top->frame == frame))
        clp_engine_leave(thread, now);
}

void clp_engine_enter(struct clp_thread *thread, uint32_t function, const void *frame,
                      uint64_t now)
{
    struct clp_engine *engine = thread->engine;

    /* a generator that was collected while suspended told nobody; its frame's address is used anew */
    if (engine->functions.items[function].generator && engine->suspended.count != 0)
        forget_suspended(engine, frame);
    drop_stale(thread, frame, now);
    (void)go_in(thread, function, frame, now, engine->costs.enter / 2);
}

void clp_engine_leave(struct clp_thread *thread, uint64_t now)
{
    struct clp_activation *top = thread->top;

    if (top == thread->stack)
        return;
    if (top->suspended != NULL)
        forget_suspended(thread->engine, top->frame);
    go_out(thread, now, thread->engine->costs.leave / 2);
}

void clp_engine_suspend(struct clp_thread *thread, uint64_t now)
{
    struct clp_activation *top = thread->top;
    struct clp_suspended *record = top->suspended;

    if (top == thread->stack)
        return;
    if (record == NULL && (record = new_suspended(thread->engine, top->frame)) == NULL)
        lose(thread);
    go_out(thread, now, thread->engine->costs.suspend / 2);
    if (record == NULL)
        return;
    /* the popped activation is still there to be read: nothing has been pushed since */
    record->function = top->block->function;
    record->on_line = top->cell != &thread->outside;
    record->line = top->line;
    record->carried = top->carried;
    record->since = now;
}

static struct clp_suspended *find_suspended(struct clp_engine *engine, uint32_t function,
                                            const void *frame)
{
    struct clp_suspended *record;
    uint64_t found;

    if (!clp_hashmap_get(&engine->suspended, key_of(frame), &found))
        return NULL;
    record = (struct clp_suspended *)(uintptr_t)found;
    return record->function == function ? record : NULL;
}

void clp_engine_resume(struct clp_thread *thread, uint32_t function, const void *frame,
                       uint64_t now)
{
    struct clp_engine *engine = thread->engine;
    struct clp_suspended *record;
    struct clp_activation *top;

    drop_stale(thread, frame, now);
    record = find_suspended(engine, function, frame);
    if (record == NULL)
        forget_suspended(engine, frame); /* of another function: long gone */
    top = go_in(thread, function, frame, now, engine->costs.resume / 2);
    if (top == NULL || record == NULL)
        return;
    top->suspended = record;
    if (!record->on_line)
        return;
    top->line = record->line;
    top->cell = &top->block->cells[record->line];
    top->carried = record->carried;
    if (engine->functions.items[function].awaits)
        top->cell->await += now - record->since;
}

bool clp_engine_is_running(const struct clp_thread *thread, const void *frame)
{
    const struct clp_activation *at = thread->top;

    while (at != thread->stack && at->frame != frame)
        at--;
    return at != thread->stack;
}

bool clp_engine_align(struct clp_thread *thread, uint32_t function, const void *frame,
                      uint64_t now)
{
    struct clp_activation *at = thread->top;

    while (at != thread->stack && (at->frame != frame || at->block->function != function))
        at--;
    if (at == thread->stack) {
        /* running since before it was selected; late, so no cost of entering to take off */
        return go_in(thread, function, frame, now, 0) != NULL;
    }
    while (thread->top != at)
        clp_engine_leave(thread, now);
    return true;
}

void clp_engine_unwind(struct clp_thread *thread, uint64_t now)
{
    while (thread->top != thread->stack)
        clp_engine_leave(thread, now);
}

/* ---- end ---- */

static void clear_threads(struct clp_engine *engine)
{
    struct clp_thread *next;

    for (struct clp_thread *thread = engine->threads; thread != NULL; thread = next) {
        next = thread->next;
        free_thread(thread);
    }
    engine->threads = NULL;
    if (engine->ended != NULL)
        free_thread(engine->ended);
    engine->ended = NULL;
}

static void clear_suspended(struct clp_engine *engine)
{
    for (size_t i = 0; i < engine->suspended.room; i++) {
        if (engine->suspended.slots[i].used)
            free_suspended(engine,
                           (struct clp_suspended *)(uintptr_t)engine->suspended.slots[i].value);
    }
    clp_hashmap_clear(&engine->suspended);
    clp_hashmap_init(&engine->suspended, engine->mem);
    while (engine->free_suspended != NULL) {
        struct clp_suspended *record = engine->free_suspended;
        engine->free_suspended = record->next_free;
        clp_mem_free(engine->mem, record, 1, sizeof *record);
    }
}

void clp_engine_clear(struct clp_engine *engine)
{
    clear_threads(engine);
    clear_suspended(engine);
    clp_functions_clear(&engine->functions);
    clp_pool_clear(&engine->pool);
}
