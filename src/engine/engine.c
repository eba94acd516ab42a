/* SPDX-License-Identifier: MIT */
#include "engine.h"
#include "garbage.h"
#include "suspended.h"
#include "threads.h"

void clp_engine_init(struct clp_engine *engine, struct clp_mem *mem, struct clp_pages *pages)
{
    *engine = (struct clp_engine){.mem = mem, .cpu_span = UINT64_MAX, .tally_span = UINT64_MAX,
                                  .pace_span = UINT64_MAX,
                                  .pace_next = UINT64_MAX};
    clp_functions_init(&engine->functions, mem);
    clp_pool_init(&engine->pool, pages);
    clp_calls_init(&engine->calls, mem, &engine->pool);
    clp_groups_init(&engine->groups, mem);
    clp_callee_names_init(&engine->callee_names, mem);
    clp_hashmap_init(&engine->ways_of, mem);
    clp_hashmap_init(&engine->suspended, mem);
    clp_hashmap_init(&engine->parked, mem);
}

void clp_engine_clear(struct clp_engine *engine)
{
    clp_engine_clear_threads(engine);
    clp_hashmap_clear(&engine->ways_of);
    clp_suspended_clear(engine);
    clp_engine_forget_stacks(engine);
    clp_groups_clear(&engine->groups);
    clp_callee_names_clear(&engine->callee_names);
    clp_calls_clear(&engine->calls);
    clp_functions_clear(&engine->functions);
    clp_pool_clear(&engine->pool);
}

/* An event takes a third less time without calls. */
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
    return &top->block->rss[clp_engine_line_index(top)];
}

/* The cost of the line event of the stay on top, or 0 if that event belongs to an earlier activation. */
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

/* Ends the stay on top, which is special. Where an outer execution of the line goes on, which contains the stay,
 * its time and its change of memory do not count. */
static INLINE void end_stay(struct clp_thread *thread)
{
    struct clp_activation *top = thread->top;
    struct clp_cell *cell = top->cell;

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

/* Begins the first line of the body on top. The line takes the time and the growth of memory since the body was
 * entered. */
static inline void begin_first_line(struct clp_thread *thread, struct clp_cell *cell)
{
    struct clp_activation *top = thread->top;
    bool special = top->special;

    begin_line(thread, cell);
    clp_garbage_take_early(thread);
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

/* The node for a call of the function from the line on top. */
static INLINE struct clp_call *call_from_top(struct clp_thread *thread, uint32_t function)
{
    struct clp_calls *calls = &thread->engine->calls;
    struct clp_call *call = clp_engine_known_call(thread, function);

    if (CLP_UNLIKELY(call == NULL))
        call = clp_engine_search_call(thread, function);
    if (CLP_LIKELY(call != NULL))
        return call;
    if (thread->top->call == &calls->start)
        thread->top->call = clp_calls_root(calls, thread->group);
    return clp_calls_find(calls, thread->top->call->home, clp_engine_place(thread), function);
}

static INLINE struct clp_activation *push(struct clp_thread *thread, struct clp_block *block,
                                          const void *frame)
{
    struct clp_call *call = call_from_top(thread, block->function);
    struct clp_cell *caller = thread->top->cell;
    struct clp_activation *top;

    if (CLP_UNLIKELY(thread->top == thread->last_activation) &&
        !clp_engine_reserve(thread, thread->stack_room * 2)) {
        clp_engine_lose(thread);
        return NULL;
    }
    /* what is counted together lies within each other unnoticed */
    bool again = call == thread->top->call->home ||
                 (caller->open != 0 && block->running != 0 && clp_engine_calls_already(thread, caller, block));
    caller->open++;
    top = ++thread->top;
    top->again = again;
    top->call = call;
    top->entered_rss = thread->last_rss;
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

/* Ends the interval on top and pushes a body of the function. NULL: the body is not recorded. */
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
    top->entry_cost = cost.after; /* its first line is not known yet */
    thread->correction += cost.after;
    return top;
}

static inline bool is_plain(const struct clp_thread *thread)
{
    return !thread->top->special && thread->top->cell->open == 0;
}

/* Ends the interval and the stay of the body on top. top->carried is then how long the stay has lasted. `cost` as in
 * clp_engine_end_plain, plain_cost_ticks the whole charge of a plain stay. */
static INLINE void end_body(struct clp_thread *thread, uint64_t at, int64_t cost,
                            int64_t plain_cost_ticks)
{
    if (CLP_LIKELY(is_plain(thread))) {
        thread->top->carried = clp_engine_end_plain(thread, at, cost, plain_cost_ticks);
        return;
    }
    clp_engine_make_special(thread);
    end_interval(thread, at);
    clp_engine_add_cost(thread, cost);
    if (on_line(thread))
        end_stay(thread);
}

/* Takes the body on top off the stack. Its stay has ended. As clp_engine_go_out_plain. */
static INLINE void go_out(struct clp_thread *thread, int64_t cost)
{
    struct clp_activation *left = thread->top;

    if (CLP_LIKELY(left->cell != &thread->outside)) {
        clp_engine_go_out_plain(thread, cost);
        return;
    }
    /* no line has the time, as when an exception is thrown into a generator that has not begun */
    __atomic_store_n(&thread->top, left - 1, __ATOMIC_RELAXED);
    left->block->running--;
    clp_garbage_leave_early(thread);
    clp_engine_credit_line(thread, thread->last - left->entered, thread->correction - left->entered_correction);
    clp_engine_add_cost(thread, cost);
}

/* ---- events ---- */

/* Leaves the body on top if the body that begins or resumes has the same frame. Two bodies cannot run in one
 * frame, so an exit was not told. */
static void drop_stale(struct clp_thread *thread, const void *frame, uint64_t now)
{
    if (CLP_UNLIKELY(thread->top->frame == frame && frame != NULL))
        clp_engine_leave(thread, now);
}

struct clp_activation *clp_engine_enter(struct clp_thread *thread, uint32_t function,
                                        const void *frame, uint64_t now)
{
    struct clp_engine *engine = thread->engine;

    /* a generator that was collected while suspended told nobody; its frame's address may be used again */
    if (frame != NULL && engine->suspended.count != 0 &&
        engine->functions.items[function].generator)
        clp_suspended_forget(engine, frame);
    drop_stale(thread, frame, now);
    struct clp_activation *top = go_in(thread, function, frame, now, thread->enter);
    if (CLP_LIKELY(top != NULL))
        top->call->counts.calls++;
    return top;
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

    if (clp_engine_find_cell(thread, line) == CLP_NO_CELL)
        cost.before = 0;
    else if (!on_line(thread)) /* the interval that ends is the line's own, so the line is charged a line event */
        cost.before += thread->line_cost;
    clp_engine_line(thread, line, now);
    leave(thread, now, cost, clp_engine_whole_ticks(thread->line_cost + cost.before));
}

/* Notes where the body on top stands. */
static void note_place(struct clp_suspended *record, const struct clp_thread *thread, uint64_t now)
{
    const struct clp_activation *top = thread->top;

    record->line_place = clp_engine_place(thread);
    record->before = top->before;
    record->carried = top->carried;
    record->since = now;
}

/* A record for the body on top, which was never suspended. NULL: no memory. */
static struct clp_suspended *new_record(struct clp_thread *thread)
{
    const struct clp_activation *top = thread->top;
    struct clp_suspended *record = clp_suspended_new(thread->engine, top->frame);

    if (record == NULL) {
        clp_engine_lose(thread);
        return NULL;
    }
    record->function = top->block->function;
    record->awaits = thread->engine->functions.items[record->function].awaits;
    return record;
}

void clp_engine_suspend(struct clp_thread *thread, uint64_t now)
{
    const struct clp_activation *top = thread->top;
    const struct clp_cost cost = thread->suspend;

    if (CLP_UNLIKELY(top == thread->stack))
        return;
    struct clp_suspended *record = top->suspended != NULL ? top->suspended : new_record(thread);
    end_body(thread, now - thread->stopped, cost.before, thread->suspend_ticks);
    if (record != NULL)
        note_place(record, thread, now);
    go_out(thread, cost.after);
}

/* The record of a suspended body of this function, or NULL. The block, which may be NULL, remembers it.
 * Records are not freed while the engine is in use. */
static struct clp_suspended *find_suspended(const struct clp_thread *thread, struct clp_block *block,
                                            uint32_t function, const void *frame)
{
    struct clp_suspended *record = block != NULL ? clp_engine_latest_suspended(block, frame) : NULL;

    if (record != NULL)
        return record;
    record = clp_suspended_find(thread->engine, frame);
    if (record == NULL || record->function != function)
        return NULL;
    if (block != NULL)
        block->latest = record;
    return record;
}

/* Puts the body on top at the line at which it was suspended. */
static void stand_at(struct clp_thread *thread, const struct clp_suspended *record, int64_t cost)
{
    struct clp_activation *top = thread->top;

    thread->correction -= cost; /* go_in counted the cost, but charged it to no line */
    top->cell = clp_block_cell(top->block, record->line_place);
    top->before = record->before;
    top->carried = record->carried;
    top->continued = true;
    clp_engine_make_special(thread);
    clp_engine_add_cost(thread, cost);
}

static void take_up(struct clp_thread *thread, struct clp_suspended *record, uint64_t now, int64_t cost)
{
    thread->top->suspended = record;
    if (record->line_place == 0)
        return;
    stand_at(thread, record, cost);
    if (record->awaits)
        thread->top->cell->await += now - record->since;
}

/* Enters the body at the line at which it was suspended, or at no line if no record says which. */
static struct clp_activation *go_on(struct clp_thread *thread, uint32_t function, const void *frame,
                                    uint64_t now, struct clp_cost cost)
{
    struct clp_block *block =
        clp_engine_has_block(thread, function) ? thread->blocks[function] : NULL;
    struct clp_suspended *record = find_suspended(thread, block, function, frame);

    if (record == NULL)
        clp_suspended_forget(thread->engine, frame); /* the frame's record is of another function, so its body has
                                                      * long been gone */
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
    return go_on(thread, function, frame, now, thread->resume);
}

bool clp_engine_take_down(struct clp_thread *thread, struct clp_suspended *place, uint64_t now)
{
    const struct clp_activation *top = thread->top;

    if (top == thread->stack) {
        end_interval(thread, now - thread->stopped);
        return false;
    }
    if (top->suspended != NULL) /* the body gets another record when it suspends again */
        clp_suspended_forget(thread->engine, top->frame);
    end_body(thread, now - thread->stopped, 0, thread->line_ticks);
    place->frame = top->frame;
    place->function = top->block->function;
    note_place(place, thread, now);
    go_out(thread, 0);
    return true;
}

struct clp_activation *clp_engine_put_back(struct clp_thread *thread,
                                           const struct clp_suspended *place, uint64_t now)
{
    struct clp_activation *top =
        go_in(thread, place->function, place->frame, now, (struct clp_cost){0});

    if (top == NULL || place->line_place == 0)
        return top;
    stand_at(thread, place, 0);
    if (top->cell->open == 0) /* several bodies that stand at one line waited together: count it once */
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
        /* the body ran before it was selected, or resumed untold; this comes late, so there is nothing to take
         * off */
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
