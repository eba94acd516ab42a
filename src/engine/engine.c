/* SPDX-License-Identifier: MIT */
#include "engine.h"
#include "suspended.h"
#include "threads.h"

void clp_engine_init(struct clp_engine *engine, struct clp_mem *mem, struct clp_pages *pages)
{
    *engine = (struct clp_engine){.mem = mem};
    clp_functions_init(&engine->functions, mem);
    clp_pool_init(&engine->pool, pages);
    clp_groups_init(&engine->groups, mem);
    clp_hashmap_init(&engine->suspended, mem);
    clp_hashmap_init(&engine->parked, mem);
}

void clp_engine_clear(struct clp_engine *engine)
{
    clp_engine_clear_threads(engine);
    clp_suspended_clear(engine);
    clp_engine_forget_stacks(engine);
    clp_groups_clear(&engine->groups);
    clp_functions_clear(&engine->functions);
    clp_pool_clear(&engine->pool);
}

/* What a suspension and a resumption go through costs them a third less without calls. */
#define INLINE inline __attribute__((always_inline))

/* ---- intervals and stays ---- */

static void note_rss_change(struct clp_rss_cell *cell, int64_t change)
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

static bool on_line(const struct clp_thread *thread)
{
    return thread->top->cell != &thread->outside;
}

static struct clp_rss_cell *rss_cell(const struct clp_activation *top)
{
    return &top->block->rss[top->cell - top->block->cells];
}

/* What the line event of the stay on top cost, if it belongs to this activation. */
static inline int64_t own_cost(const struct clp_thread *thread)
{
    return on_line(thread) && !thread->top->continued ? thread->line_cost : 0;
}

/* Counts the interval since the last event as self time of the line on top. */
static inline void end_interval(struct clp_thread *thread, uint64_t at)
{
    struct clp_cell *cell = thread->top->cell;
    uint64_t ticks = at - thread->last;

    cell->self += ticks;
    if (CLP_UNLIKELY(cell->open != 0))
        cell->nested -= (int64_t)ticks;
    thread->last = at;
    if (CLP_LIKELY(thread->rss == thread->last_rss))
        return;
    if (on_line(thread))
        rss_cell(thread->top)->self_increment += thread->rss - thread->last_rss;
    thread->last_rss = thread->rss;
}

/* The stay on top ends; what an outer execution of the line will bring does not count. */
static INLINE void end_stay(struct clp_thread *thread)
{
    struct clp_activation *top = thread->top;
    struct clp_cell *cell = top->cell;

    clp_engine_make_special(thread);
    if (thread->usage > cell->usage)
        cell->usage = thread->usage;
    if (cell->open != 0) {
        cell->nested_correction -= own_cost(thread);
        return;
    }
    int64_t ticks = (int64_t)(thread->last - top->start);
    int64_t correction = clp_engine_whole_ticks(thread->correction - top->start_correction);
    top->carried += ticks > correction ? (uint64_t)(ticks - correction) : 0;
    if ((int64_t)top->carried > cell->max)
        cell->max = (int64_t)top->carried;
    if (thread->rss != top->start_rss)
        note_rss_change(rss_cell(top), thread->rss - top->start_rss);
}

static inline void begin_line(struct clp_thread *thread, struct clp_cell *cell)
{
    struct clp_activation *top = thread->top;

    thread->correction += thread->line_cost;
    cell->hits++;
    top->cell = cell;
    top->special = false;
    top->continued = false;
    top->carried = 0;
}

/* The first line takes what has passed, and grown, since the body was entered. */
static inline void begin_first_line(struct clp_thread *thread, struct clp_cell *cell)
{
    struct clp_activation *top = thread->top;
    bool special = top->special;

    begin_line(thread, cell);
    cell->self_correction += top->entry_cost;
    if (CLP_UNLIKELY(cell->open != 0))
        cell->nested_correction -= top->entry_cost;
    if (CLP_UNLIKELY(special))
        clp_engine_make_special(thread);
}

void clp_engine_line_special(struct clp_thread *thread, size_t place, uint64_t at)
{
    struct clp_cell *cell = clp_block_cell(thread->top->block, place);

    if (!on_line(thread)) {
        begin_first_line(thread, cell);
        return;
    }
    clp_engine_make_special(thread);
    end_interval(thread, at);
    end_stay(thread);
    begin_line(thread, cell);
}

/* ---- the stack ---- */

static INLINE struct clp_activation *push(struct clp_thread *thread, struct clp_block *block,
                                          const void *frame)
{
    struct clp_activation *top;

    if (CLP_UNLIKELY(thread->top == thread->last_room) &&
        !clp_engine_reserve(thread, thread->stack_room * 2)) {
        clp_engine_lose(thread);
        return NULL;
    }
    thread->top->cell->open++;
    top = ++thread->top;
    top->frame = frame;
    top->block = block;
    top->cell = &thread->outside;
    top->special = top->continued = false;
    top->before = 0;
    top->code = 0;
    top->carried = 0;
    top->suspended = NULL;
    top->entered = thread->last;
    block->running++;
    return top;
}

/* Ends the interval on top, starts one for a body of the function above it. NULL: not recorded. */
static INLINE struct clp_activation *go_in(struct clp_thread *thread, uint32_t function,
                                           const void *frame, uint64_t now, struct clp_cost cost)
{
    struct clp_block *block;
    struct clp_activation *top;

    if (CLP_UNLIKELY(thread->broken))
        return NULL;
    block = CLP_LIKELY(clp_engine_has_block(thread, function)) ? thread->blocks[function]
                                                              : clp_engine_block(thread, function);
    if (CLP_UNLIKELY(block == NULL)) {
        clp_engine_lose(thread);
        return NULL;
    }
    clp_engine_make_special(thread);
    end_interval(thread, now - thread->stopped);
    clp_engine_add_cost(thread, cost.before);
    top = push(thread, block, frame);
    if (CLP_UNLIKELY(top == NULL))
        return NULL;
    top->entered_correction = thread->correction;
    top->entry_cost = cost.after; /* its line is not known yet */
    thread->correction += cost.after;
    return top;
}

static inline bool is_plain(const struct clp_thread *thread)
{
    return !thread->top->special && thread->top->cell->open == 0;
}

/* Ends the interval and the stay of the body on top; top->carried is how long it has taken. */
static INLINE void end_body(struct clp_thread *thread, uint64_t at, int64_t cost,
                            int64_t plain_cost_ticks)
{
    struct clp_cell *cell = thread->top->cell;

    if (CLP_UNLIKELY(!is_plain(thread))) {
        clp_engine_make_special(thread);
        end_interval(thread, at);
        clp_engine_add_cost(thread, cost);
        if (on_line(thread))
            end_stay(thread);
        return;
    }
    int64_t ticks = (int64_t)(at - thread->last);
    cell->self += (uint64_t)ticks;
    cell->self_correction += cost;
    thread->correction += cost;
    thread->last = at;
    ticks -= plain_cost_ticks;
    if (ticks > cell->max)
        cell->max = ticks;
    if (thread->usage > cell->usage)
        cell->usage = thread->usage;
    thread->top->carried = ticks > 0 ? (uint64_t)ticks : 0;
}

/* A body that is left before a line has begun, as by an exception thrown into a generator that has not
 * started, is time of its caller's line, but not of its function: no line of that has it. */
static void take_back(const struct clp_thread *thread, const struct clp_activation *left)
{
    struct clp_block *block = left->block;

    if (block->running != 0)
        return; /* the outer body has the time */
    block->total -= thread->last - left->entered;
    block->total_correction -= thread->correction - left->entered_correction;
}

/* Takes the body on top, which has ended, off the stack. This may be another thread than the stack's
 * (clp_engine_top). */
static INLINE void go_out(struct clp_thread *thread, int64_t cost)
{
    struct clp_activation *left = thread->top;

    __atomic_store_n(&thread->top, left - 1, __ATOMIC_RELAXED);
    clp_engine_bring(thread, left, thread->correction);
    if (CLP_UNLIKELY(left->cell == &thread->outside))
        take_back(thread, left);
    clp_engine_add_cost(thread, cost);
}

/* ---- events ---- */

/* A body that begins or resumes is not running yet: if it is on top, its exit was not told. */
static void drop_stale(struct clp_thread *thread, const void *frame, uint64_t now)
{
    if (CLP_UNLIKELY(thread->top->frame == frame && frame != NULL))
        clp_engine_leave(thread, now);
}

struct clp_activation *clp_engine_enter(struct clp_thread *thread, uint32_t function,
                                        const void *frame, uint64_t now)
{
    struct clp_engine *engine = thread->engine;

    /* a generator that was collected while suspended told nobody; its frame's address is used anew */
    if (frame != NULL && engine->suspended.count != 0 &&
        engine->functions.items[function].generator)
        clp_suspended_forget(engine, frame);
    drop_stale(thread, frame, now);
    return go_in(thread, function, frame, now, engine->costs.enter);
}

static void leave(struct clp_thread *thread, uint64_t now, struct clp_cost cost,
                  int64_t plain_cost_ticks)
{
    struct clp_activation *top = thread->top;

    if (CLP_UNLIKELY(top == thread->stack))
        return;
    if (CLP_UNLIKELY(top->suspended != NULL))
        clp_suspended_forget(thread->engine, top->frame);
    end_body(thread, now - thread->stopped, cost.before, plain_cost_ticks);
    go_out(thread, cost.after);
}

void clp_engine_leave(struct clp_thread *thread, uint64_t now)
{
    leave(thread, now, thread->leave, thread->leave_ticks);
}

void clp_engine_last_line(struct clp_thread *thread, int32_t line, uint64_t now)
{
    struct clp_cost cost = thread->last_line;

    if (!clp_engine_has_line(thread, line))
        cost.before = 0;
    else if (!on_line(thread)) /* the interval that ends is its own: it is charged a line event */
        cost.before += thread->line_cost;
    clp_engine_line(thread, line, now);
    leave(thread, now, cost, clp_engine_whole_ticks(thread->line_cost + cost.before));
}

static INLINE void note_place(struct clp_suspended *record, const struct clp_thread *thread,
                              const struct clp_activation *top, uint64_t now)
{
    record->function = top->block->function;
    record->on_line = top->cell != &thread->outside;
    record->line = record->on_line ? (uint32_t)(top->cell - top->block->cells) : 0;
    record->before = top->before;
    record->carried = top->carried;
    record->since = now;
}

void clp_engine_suspend(struct clp_thread *thread, uint64_t now)
{
    struct clp_activation *top = thread->top;
    const struct clp_cost cost = thread->engine->costs.suspend;
    struct clp_suspended *record = top->suspended;

    if (CLP_UNLIKELY(top == thread->stack))
        return;
    if (record == NULL && (record = clp_suspended_new(thread->engine, top->frame)) == NULL)
        clp_engine_lose(thread);
    end_body(thread, now - thread->stopped, cost.before, thread->suspend_ticks);
    if (record != NULL)
        note_place(record, thread, top, now);
    go_out(thread, cost.after);
}

/* The record of a body of this function, or NULL. Most of the time it is the one that was asked for
 * last: records are never given back to the system, so a stale one shows by its frame. */
static INLINE struct clp_suspended *find_suspended(struct clp_thread *thread, uint32_t function,
                                            const void *frame)
{
    struct clp_block *block =
        clp_engine_has_block(thread, function) ? thread->blocks[function] : NULL;
    struct clp_suspended *record = block != NULL ? block->latest : NULL;

    if (record != NULL && record->frame == frame && record->function == function)
        return record;
    record = clp_suspended_find(thread->engine, frame);
    if (record == NULL || record->function != function)
        return NULL;
    if (block != NULL)
        block->latest = record;
    return record;
}

/* The body on top goes on at the line at which it was suspended. */
static INLINE void stand_at(struct clp_thread *thread, const struct clp_suspended *record,
                            int64_t cost)
{
    struct clp_activation *top = thread->top;

    thread->correction -= cost; /* go_in gave it to nobody */
    top->cell = &top->block->cells[record->line];
    top->before = record->before;
    top->carried = record->carried;
    top->continued = true;
    clp_engine_make_special(thread);
    clp_engine_add_cost(thread, cost);
}

static INLINE void take_up(struct clp_thread *thread, struct clp_suspended *record, uint64_t now,
                    int64_t cost)
{
    thread->top->suspended = record;
    if (!record->on_line)
        return;
    stand_at(thread, record, cost);
    if (thread->engine->functions.items[record->function].awaits)
        thread->top->cell->await += now - record->since;
}

/* Goes in where the body was suspended, or at no line when there is no record of that. */
static INLINE struct clp_activation *go_on(struct clp_thread *thread, uint32_t function,
                                    const void *frame, uint64_t now, struct clp_cost cost)
{
    struct clp_suspended *record = find_suspended(thread, function, frame);

    if (record == NULL)
        clp_suspended_forget(thread->engine, frame); /* of another function: long gone */
    if (go_in(thread, function, frame, now, cost) == NULL)
        return NULL;
    if (record != NULL)
        take_up(thread, record, now, cost.after);
    return thread->top;
}

struct clp_activation *clp_engine_resume(struct clp_thread *thread, uint32_t function,
                                         const void *frame, uint64_t now)
{
    drop_stale(thread, frame, now);
    return go_on(thread, function, frame, now, thread->engine->costs.resume);
}

bool clp_engine_take_down(struct clp_thread *thread, struct clp_suspended *place, uint64_t now)
{
    const struct clp_activation *top = thread->top;

    if (top == thread->stack) {
        end_interval(thread, now - thread->stopped);
        return false;
    }
    if (top->suspended != NULL) /* it gets another one when it suspends again */
        clp_suspended_forget(thread->engine, top->frame);
    end_body(thread, now - thread->stopped, 0, thread->line_ticks);
    place->frame = top->frame;
    note_place(place, thread, top, now);
    go_out(thread, 0);
    return true;
}

struct clp_activation *clp_engine_put_back(struct clp_thread *thread,
                                           const struct clp_suspended *place, uint64_t now)
{
    struct clp_activation *top =
        go_in(thread, place->function, place->frame, now, (struct clp_cost){0});

    if (top == NULL || !place->on_line)
        return top;
    stand_at(thread, place, 0);
    if (top->cell->open == 0) /* several bodies that stand at one line have waited once */
        top->cell->await += now - place->since;
    return top;
}

bool clp_engine_is_running(const struct clp_thread *thread, const void *frame)
{
    const struct clp_activation *at = thread->top;

    while (at != thread->stack && at->frame != frame)
        at--;
    return at != thread->stack;
}

struct clp_activation *clp_engine_align(struct clp_thread *thread, uint32_t function,
                                        const void *frame, uint64_t now)
{
    struct clp_activation *at = thread->top;

    while (at != thread->stack && (at->frame != frame || at->block->function != function))
        at--;
    if (at == thread->stack) {
        /* running since before it was selected, or resumed untold; late, so nothing to take off */
        return go_on(thread, function, frame, now, (struct clp_cost){0});
    }
    while (thread->top != at)
        clp_engine_leave(thread, now);
    return at;
}

void clp_engine_unwind(struct clp_thread *thread, uint64_t now)
{
    while (thread->top != thread->stack)
        clp_engine_leave(thread, now);
}

bool clp_engine_runs(const struct clp_engine *engine, uint32_t function)
{
    for (const struct clp_thread *thread = engine->threads; thread != NULL; thread = thread->next) {
        if (clp_engine_has_block(thread, function) && thread->blocks[function]->running != 0)
            return true;
    }
    return clp_engine_is_parked(engine, function);
}
