/* SPDX-License-Identifier: MIT */
/* The hot path: nearly every event takes one of these inline functions, which cost no call. The functions named
 * *_plain return false, and have done nothing, where something is out of the ordinary. The caller then hands
 * the event to a function of engine.h. */
#ifndef CLP_HOT_H
#define CLP_HOT_H

#include "engine_state.h"

/* Returns the innermost activation of the thread. A hook of an allocator asks without the interpreter's lock,
 * in the thread itself. Meanwhile another thread that has the lock may unwind the stack (clp_engine_unwind).
 * The hook then finds the activation that was on top, or one below it. All of them stay in place meanwhile,
 * because only the thread itself pushes onto its stack or moves it. */
static inline const struct clp_activation *clp_engine_top(const struct clp_thread *thread)
{
    return __atomic_load_n(&thread->top, __ATOMIC_RELAXED);
}

/* How many ticks have passed in the thread since its last event, at `now` by the clock. */
static inline uint64_t clp_engine_since_last(const struct clp_thread *thread, uint64_t now)
{
    return now - thread->stopped - thread->last;
}

/* The place of the activation's line among the lines of its function. It must be on a line. */
static inline size_t clp_engine_line_index(const struct clp_activation *activation)
{
    return (size_t)(activation->cell - activation->block->cells);
}

/* How many ticks must pass in a thread before an event takes the slow way. */
static inline uint64_t clp_engine_read_span(const struct clp_engine *engine)
{
    uint64_t span = engine->rss_span < engine->cpu_span ? engine->rss_span : engine->cpu_span;

    if (engine->logs_lines || engine->has_ranges)
        return 0;
    span = span < engine->tally_span ? span : engine->tally_span;
    return span < engine->pace_span ? span : engine->pace_span;
}

/* Tells all threads of a change of the spans. */
static inline void clp_engine_spread_spans(struct clp_engine *engine)
{
    for (struct clp_thread *thread = engine->threads; thread != NULL; thread = thread->next)
        thread->read_span = clp_engine_read_span(engine);
}

/* Has so much time passed since the thread's last event that memory or processor time must be read? */
static inline bool clp_engine_wants_read(const struct clp_thread *thread, uint64_t now)
{
    return clp_engine_since_last(thread, now) >= thread->read_span;
}

/* Adds `cost`, in 1/256 ticks, to what the line on top is charged beyond its line events. */
static inline void clp_engine_add_cost(struct clp_thread *thread, int64_t cost)
{
    struct clp_cell *cell = thread->top->cell;

    thread->correction += cost;
    cell->self_correction += cost;
    /* An outer execution of this line is running and will later add its callee's full time, which includes
     * this. So this is subtracted here. */
    if (cell->open != 0)
        cell->nested_correction -= cost;
}

/* The line of the file that is being executed in the body on top; -1 before its first line. */
static inline int32_t clp_engine_current_line(const struct clp_thread *thread)
{
    const struct clp_activation *top = thread->top;

    if (top->cell == &thread->outside)
        return -1;
    return top->block->map->lines[clp_engine_line_index(top)];
}

/* A line begins in the body on top, at `at` on the thread's own clock. The line's cell lies `place` bytes
 * behind the start of the function's block. Fails where the stay that ends is not plain (engine.h). */
static inline bool clp_engine_line_plain(struct clp_thread *thread, size_t place, uint64_t at)
{
    struct clp_activation *top = thread->top;
    struct clp_cell *cell = top->cell;

    if (CLP_UNLIKELY(top->special || cell->open != 0))
        return false;
    int64_t ticks = (int64_t)(at - thread->last);
    cell->self += (uint64_t)ticks;
    if (ticks - thread->line_ticks > cell->max)
        cell->max = ticks - thread->line_ticks;
    if (thread->usage > cell->usage)
        cell->usage = thread->usage;
    thread->last = at;
    thread->correction += thread->line_cost;
    cell = clp_block_cell(top->block, place);
    cell->hits++;
    top->cell = cell;
    return true;
}

/* The cell of this line in the function of the body on top, or CLP_NO_CELL. */
static inline uint32_t clp_engine_find_cell(const struct clp_thread *thread, int32_t line)
{
    return clp_line_map_find(thread->top->block->map, line);
}

/* ---- entering and leaving a body, where nothing is out of the ordinary ----
 *
 * clp_engine_enter_plain is clp_engine_enter together with the first line, for a body that is never suspended.
 * clp_engine_leave_plain and clp_engine_last_line_plain are clp_engine_leave and clp_engine_last_line for a
 * body that was never suspended. */

/* Notes where the stay on top began, because it becomes more than one interval. Nothing happens if that is
 * noted already. */
static inline void clp_engine_make_special(struct clp_thread *thread)
{
    struct clp_activation *top = thread->top;

    if (top->special)
        return;
    bool has_line_event = top->cell != &thread->outside && !top->continued; /* the stay began with one */
    top->special = true;
    top->start = thread->last;
    top->start_correction = thread->correction - (has_line_event ? thread->line_cost : 0);
    top->start_rss = thread->last_rss;
}

/* Where the cell of the line on top lies in its block; 0 outside all lines. */
static inline size_t clp_engine_place(const struct clp_thread *thread)
{
    const struct clp_activation *top = thread->top;

    return top->cell == &thread->outside ? 0 : clp_block_place_of(top->block, top->cell);
}

/* The node for a call of the function from the line on top, if it is the one that was called last or the next; else
 * NULL. */
static inline struct clp_call *clp_engine_known_call(const struct clp_thread *thread, uint32_t function)
{
    return clp_calls_known(thread->top->call->home, clp_engine_place(thread), function);
}

/* Searches for the node among the first few others; NULL where it must be searched for in the whole tree. */
static inline struct clp_call *clp_engine_search_call(const struct clp_thread *thread, uint32_t function)
{
    return clp_calls_search(thread->top->call->home, clp_engine_place(thread), function);
}

/* Is a call of this function from this line on the stack? Recursion usually has one at once. */
static inline bool clp_engine_calls_already(const struct clp_thread *thread, const struct clp_cell *caller,
                                            const struct clp_block *block)
{
    const struct clp_activation *at = thread->top;

    while (at != thread->stack && (at->block != block || at[-1].cell != caller))
        at--;
    return at != thread->stack;
}

/* Ends the interval on top, whose line calls or resumes a body, and puts an activation of that body on top.
 * `cost` is the part of the event before its reading of the clock. Memory is as it was at the last event, and
 * the stack has room. The caller sets the rest of the activation. */
static inline __attribute__((always_inline)) struct clp_activation *
clp_engine_push_plain(struct clp_thread *thread, struct clp_block *block, struct clp_call *call,
                      struct clp_cell *cell, int64_t cost, uint64_t at)
{
    struct clp_activation *top = thread->top;
    struct clp_cell *caller = top->cell;
    uint64_t ticks = at - thread->last;
    bool again = false;

    clp_engine_make_special(thread);
    caller->self += ticks;
    caller->self_correction += cost;
    if (caller->open++ != 0) {
        caller->nested -= (int64_t)ticks;
        caller->nested_correction -= cost;
        again = block->running != 0 && clp_engine_calls_already(thread, caller, block);
    }
    thread->last = at;
    thread->correction += cost;
    thread->top = ++top;
    block->running++;
    top->again = again;
    top->call = call;
    top->entered_rss = thread->last_rss;
    top->block = block;
    top->cell = cell;
    top->entered = at;
    top->entered_correction = thread->correction;
    return top;
}

/* The node for a call of the block's function; NULL where something is out of the ordinary. */
static inline __attribute__((always_inline)) struct clp_call *clp_engine_plain_call(const struct clp_thread *thread,
                                                                                    const struct clp_block *block)
{
    if (CLP_UNLIKELY(thread->top == thread->last_activation || thread->rss != thread->last_rss))
        return NULL;
    struct clp_call *call = clp_engine_known_call(thread, block->function);
    return CLP_LIKELY(call != NULL) ? call : clp_engine_search_call(thread, block->function);
}

static inline __attribute__((always_inline)) bool
clp_engine_enter_plain(struct clp_thread *thread, struct clp_block *block, uint64_t code,
                       size_t place, uint64_t at)
{
    const struct clp_cost cost = thread->enter;
    struct clp_cell *cell = clp_block_cell(block, place);

    struct clp_call *call = clp_engine_plain_call(thread, block);
    if (CLP_UNLIKELY(call == NULL))
        return false;
    call->counts.calls++;
    struct clp_activation *top = clp_engine_push_plain(thread, block, call, cell, cost.before, at);
    thread->correction += cost.after + thread->line_cost;
    top->frame = NULL;
    top->code = code;
    top->special = top->continued = false;
    top->before = 0;
    top->carried = 0;
    top->suspended = NULL;
    cell->hits++;
    cell->self_correction += cost.after;
    if (cell->open != 0)
        cell->nested_correction -= cost.after;
    return true;
}

/* Adds what the body of `left` took to the node of its call. */
static inline void clp_engine_credit_call(const struct clp_thread *thread, const struct clp_activation *left,
                                          uint64_t total, int64_t correction)
{
    struct clp_call_counts *counts = &left->call->counts;

    if (CLP_UNLIKELY(left->again)) {
        counts->again += total;
        counts->again_correction += correction;
        return;
    }
    counts->ticks += total;
    counts->correction += correction;
    if (CLP_UNLIKELY(thread->last_rss != left->entered_rss)) /* unsigned: a damaged live file may hold any sizes */
        counts->increment = (int64_t)((uint64_t)counts->increment + (uint64_t)(thread->last_rss - left->entered_rss));
}

/* Adds the time of a body that was just taken off the stack to its caller's line. */
static inline void clp_engine_credit_line(const struct clp_thread *thread, uint64_t total, int64_t correction)
{
    struct clp_cell *caller = thread->top->cell;

    if (--caller->open == 0) {
        caller->nested += (int64_t)total;
        caller->nested_correction += correction;
    }
}

/* Adds the time of the body of `left`, which was just taken off the stack, to its caller's line, to the node of
 * its call, and to the total of its function. `correction` is what the thread was charged up to the body's end. */
static inline void clp_engine_credit_caller(struct clp_thread *thread, const struct clp_activation *left,
                                            int64_t correction)
{
    uint64_t total = thread->last - left->entered;

    correction -= left->entered_correction;
    clp_engine_credit_call(thread, left, total, correction);
    if (--left->block->running == 0) {
        left->block->total += total;
        left->block->total_correction += correction;
    }
    clp_engine_credit_line(thread, total, correction);
}

/* Ends the interval and the stay on top, which is plain. `cost` is the part of the event before its reading of the clock,
 * cost_ticks the whole charge of the stay. Returns how long the stay has lasted without it; at least 0. */
static inline __attribute__((always_inline)) uint64_t
clp_engine_end_plain(struct clp_thread *thread, uint64_t at, int64_t cost, int64_t cost_ticks)
{
    struct clp_cell *cell = thread->top->cell;
    int64_t ticks = (int64_t)(at - thread->last);

    cell->self += (uint64_t)ticks;
    cell->self_correction += cost;
    thread->correction += cost;
    thread->last = at;
    if (cell->open != 0) {
        cell->nested -= ticks;
        cell->nested_correction -= cost + thread->line_cost;
    } else if (ticks - cost_ticks > cell->max) {
        cell->max = ticks - cost_ticks;
    }
    if (thread->usage > cell->usage)
        cell->usage = thread->usage;
    return ticks > cost_ticks ? (uint64_t)(ticks - cost_ticks) : 0;
}

/* Takes the body on top, whose stay has ended on a line, off the stack. `cost` is the part of the event after its
 * reading of the clock. The calling thread may be another one than the stack's (clp_engine_top). */
static inline __attribute__((always_inline)) void clp_engine_go_out_plain(struct clp_thread *thread, int64_t cost)
{
    const struct clp_activation *left = thread->top;

    __atomic_store_n(&thread->top, thread->top - 1, __ATOMIC_RELAXED);
    clp_engine_credit_caller(thread, left, thread->correction);
    clp_engine_add_cost(thread, cost);
}

static inline __attribute__((always_inline)) bool
clp_engine_leave_plain(struct clp_thread *thread, uint64_t at)
{
    const struct clp_activation *top = thread->top;

    if (CLP_UNLIKELY(top->special || top->suspended != NULL || top->cell == &thread->outside))
        return false;
    clp_engine_end_plain(thread, at, thread->leave.before, thread->leave_ticks);
    clp_engine_go_out_plain(thread, thread->leave.after);
    return true;
}

static inline __attribute__((always_inline)) bool
clp_engine_last_line_plain(struct clp_thread *thread, size_t place, uint64_t at)
{
    const struct clp_activation *left = thread->top;
    const struct clp_cost cost = thread->last_line;

    if (CLP_UNLIKELY(left->suspended != NULL || !clp_engine_line_plain(thread, place, at)))
        return false;
    struct clp_cell *cell = left->cell, *caller = (left - 1)->cell;
    cell->self_correction += cost.before;
    if (cell->open != 0) /* this execution, too, lies within the outer one */
        cell->nested_correction -= thread->line_cost + cost.before;
    if (thread->usage > cell->usage)
        cell->usage = thread->usage;
    thread->top--;
    int64_t correction = thread->correction + cost.before;
    clp_engine_credit_caller(thread, left, correction);
    thread->correction = correction + cost.after;
    caller->self_correction += cost.after;
    if (caller->open != 0)
        caller->nested_correction -= cost.after;
    return true;
}

/* ---- suspending and resuming a body, where nothing is out of the ordinary ----
 *
 * The body was suspended before, so it has a record, and it stands at a line. `now` is the time by the clock itself. */

static inline __attribute__((always_inline)) bool
clp_engine_suspend_plain(struct clp_thread *thread, uint64_t now)
{
    struct clp_activation *top = thread->top;
    struct clp_suspended *record = top->suspended;

    if (CLP_UNLIKELY(record == NULL || top->special || top->cell->open != 0))
        return false;
    record->line_place = clp_block_place_of(top->block, top->cell);
    record->since = now;
    record->carried =
        clp_engine_end_plain(thread, now - thread->stopped, thread->suspend.before, thread->suspend_ticks);
    clp_engine_go_out_plain(thread, thread->suspend.after);
    return true;
}

/* The record of the body if it is the one that was resumed last in this block; else NULL. */
static inline struct clp_suspended *clp_engine_latest_suspended(const struct clp_block *block, const void *frame)
{
    struct clp_suspended *record = block->latest; /* never freed, but maybe stale */

    return CLP_LIKELY(record != NULL && record->frame == frame && record->function == block->function) ? record : NULL;
}

static inline __attribute__((always_inline)) struct clp_activation *
clp_engine_resume_plain(struct clp_thread *thread, struct clp_block *block, uint64_t code, const void *frame,
                        uint64_t now)
{
    const struct clp_cost cost = thread->resume;
    struct clp_suspended *record = clp_engine_latest_suspended(block, frame);
    struct clp_call *call = clp_engine_plain_call(thread, block);

    if (CLP_UNLIKELY(call == NULL || record == NULL || record->line_place == 0 || thread->top->frame == frame))
        return NULL;
    struct clp_cell *cell = clp_block_cell(block, record->line_place);
    struct clp_activation *top =
        clp_engine_push_plain(thread, block, call, cell, cost.before, now - thread->stopped);
    top->frame = frame;
    top->code = code;
    top->special = top->continued = true;
    top->start = thread->last;
    top->start_correction = thread->correction;
    top->start_rss = thread->last_rss;
    top->before = 0;
    top->carried = record->carried;
    top->suspended = record;
    clp_engine_add_cost(thread, cost.after);
    if (CLP_UNLIKELY(record->awaits))
        cell->await += now - record->since;
    return top;
}

#endif
