/* SPDX-License-Identifier: MIT */
/* Events that read the clock seldom.
 *
 *   events   | | | | | | | | | | | | | | | | | | | | | | | | |
 *   readings               x x x x                 x x x x
 *                 gap     warm burst      gap     warm burst
 *
 * - Each event counts hits and calls, and keeps the stack. Only some read the clock.
 * - In a burst each event does. Its times count CLP_LIGHT_WEIGHT fold, because so many intervals pass for each one in a
 *   burst; and less, because the program is slower there. Each row of events has one burst, at a random place, so no loop
 *   can run in step with them. Before a burst a few events read the clock in vain: the processor has to learn the way
 *   through their code. A thread's first rows are shorter, and their bursts count CLP_LIGHT_DENSE fold: a short program
 *   needs more bursts for its shares to be as good.
 * - The sum of all that bursts count is the time that was measured in gaps. Where bursts have counted more or less so far,
 *   the next ones make it good.
 * - An event that reads the clock reads it again when it is done, and what lies between is left out.
 * - The first intervals of a thread are all timed, so a short program is measured exactly. So are those of lines that
 *   had few so far or usually last long. These count once.
 * - A stay that lasted milliseconds counts once, whether it lies in a burst or in a gap. A ticker counts the
 *   milliseconds, and each event looks at its count. So no long stay is lost, even in a line that usually takes some
 *   nanoseconds. In a gap such a stay began after the last reading and after the events since then, which take as long
 *   as they usually do.
 *
 * Which of this holds for an interval is known when it begins, but for long stays, which all count once. So sums are
 * right on average: each interval counts with the inverse of the chance that it is timed.
 *
 * A thread's own clock (now - stopped) goes `rate` times as fast as time: it stands still in a gap, and goes as fast in
 * a burst as the burst weighs. So the rest of the engine works as ever. What an event costs is charged at the same rate.
 * `stopped` is right for the moment of the last reading; clp_light_settle sets it right for another. */
#ifndef CLP_LIGHT_H
#define CLP_LIGHT_H

#include "hot.h"

#define CLP_LIGHT_WEIGHT 32
#define CLP_LIGHT_DENSE 8

/* How much an event counts down at a place in the code which is to read the clock at each visit. */
#define CLP_LIGHT_ALWAYS (INT64_C(1) << 40)

/* Lets threads that are made from now on read the clock seldom. `ticker` counts the milliseconds. The costs of the
 * engine must be unknown, or be set anew. */
void clp_light_turn_on(struct clp_engine *engine, const uint64_t *ticker, uint64_t ticks_per_microsecond);

/* Starts a thread at `now` by the clock. */
void clp_light_begin(struct clp_thread *thread, uint64_t now);

/* Need the event not read the clock? `step` is that of its place in the code, 1 or CLP_LIGHT_ALWAYS. */
static inline bool clp_light_skips(struct clp_thread *thread, int64_t step)
{
    thread->light.left -= step;
    return CLP_LIKELY(thread->light.left >= 0) &&
           CLP_LIKELY(thread->light.tick == __atomic_load_n(thread->light.ticker, __ATOMIC_RELAXED));
}

/* Counts an event that is timed at each visit, and takes no part in bursts and gaps. clp_light_time_rest comes next. */
static inline void clp_light_count(struct clp_thread *thread)
{
    thread->light.left--;
}

/* Does the work of clp_light_settle, for a thread that does not read the clock at each event. */
void clp_light_settle_light(struct clp_thread *thread, uint64_t now);

/* Sets the thread's own clock right for `now` by the clock. Call it before anything is done at `now`. Nothing happens
 * for a moment that is not later than the last one. */
static inline void clp_light_settle(struct clp_thread *thread, uint64_t now)
{
    if (CLP_UNLIKELY(thread->light.on))
        clp_light_settle_light(thread, now);
}

/* Is a stay of so many ticks of the thread's own clock known to have lasted so long? */
static inline bool clp_light_knows_longest(const struct clp_thread *thread, uint64_t ticks)
{
    return !thread->light.on || thread->light.rate == CLP_LIGHT_ONE || ticks >= thread->light.long_stay;
}

/* An event that reads the clock has read `now`. `step` is that of its place. Notes the interval that ends. */
void clp_light_read(struct clp_thread *thread, int64_t step, uint64_t now);

/* The event is done. Decides how the interval that begins is measured. Returns the step of the event's place from now
 * on. */
int64_t clp_light_go_on(struct clp_thread *thread, enum clp_light_kind kind);

/* An event that has read the clock ends at `now`. The thread's own clock has stood still meanwhile. */
static inline void clp_light_end_event(struct clp_thread *thread, uint64_t now)
{
    struct clp_light *light = &thread->light;
    uint64_t event = now - light->read;

    if ((int64_t)event <= 0)
        return;
    light->inside += event;
    thread->stopped += event;
    light->read = now;
}

/* Lets the next event read the clock. */
void clp_light_read_next(struct clp_thread *thread);

/* Times the rest of the interval that runs, from `now` on, and counts it once. Within an event that has read the clock:
 * the interval that begins with it. */
void clp_light_time_rest(struct clp_thread *thread, uint64_t now);

/* For the copy of a thread, whose interval goes on: counts it once if it lies in a burst. It may become a long stay, and
 * must not count less then. */
void clp_light_count_rest_once(struct clp_thread *copy);

/* ---- events between which no time passes ----
 *
 * They do what the functions of hot.h do whose names end in _plain, at the moment of the thread's last event and at no
 * cost. False: something is out of the ordinary, and nothing was done. */

/* Ends a stay on top that is more than one interval. False: it has numbers that count. */
static inline bool clp_light_end_stay(const struct clp_thread *thread, struct clp_activation *top)
{
    if (CLP_UNLIKELY(thread->rss != top->start_rss || thread->last - top->start >= thread->light.long_stay))
        return false;
    top->special = top->continued = false;
    top->carried = 0;
    return true;
}

static inline bool clp_light_line(struct clp_thread *thread, size_t place)
{
    struct clp_activation *top = thread->top;

    if (CLP_UNLIKELY(top->cell->open != 0) || (top->special && CLP_UNLIKELY(!clp_light_end_stay(thread, top))))
        return false;
    struct clp_cell *cell = clp_block_cell(top->block, place);
    cell->hits++;
    top->cell = cell;
    return true;
}

/* The node for a call of the block's function; NULL where something is out of the ordinary. */
static inline struct clp_call *clp_light_call(const struct clp_thread *thread, const struct clp_block *block)
{
    if (CLP_UNLIKELY(thread->top == thread->last_activation || thread->rss != thread->last_rss))
        return NULL;
    struct clp_call *call = clp_engine_known_call(thread, block->function);
    return CLP_LIKELY(call != NULL) ? call : clp_engine_search_call(thread, block->function);
}

/* Enters a body and begins its first line. */
static inline __attribute__((always_inline)) bool
clp_light_enter(struct clp_thread *thread, struct clp_block *block, uint64_t code, size_t place)
{
    struct clp_activation *top = thread->top;
    struct clp_cell *caller = top->cell, *cell = clp_block_cell(block, place);
    struct clp_call *call = clp_light_call(thread, block);

    if (CLP_UNLIKELY(call == NULL))
        return false;
    call->counts.calls++;
    clp_engine_make_special(thread);
    bool again = caller->open++ != 0 && block->running != 0 && clp_engine_calls_already(thread, caller, block);
    block->running++;
    cell->hits++;
    thread->top = ++top;
    top->frame = NULL;
    top->block = block;
    top->cell = cell;
    top->code = code;
    top->special = top->continued = false;
    top->again = again;
    top->before = 0;
    top->carried = 0;
    top->entered = thread->last;
    top->entered_correction = thread->correction;
    top->suspended = NULL;
    top->call = call;
    top->entered_rss = thread->last_rss;
    return true;
}

/* Takes the body on top off the stack. */
static inline __attribute__((always_inline)) void clp_light_pop(struct clp_thread *thread)
{
    struct clp_activation *left = thread->top--;

    if (thread->last != left->entered || CLP_UNLIKELY(thread->last_rss != left->entered_rss)) {
        clp_engine_credit_caller(thread, left, thread->correction);
        return;
    }
    left->block->running--;
    left[-1].cell->open--;
}

static inline bool clp_light_leave(struct clp_thread *thread)
{
    struct clp_activation *top = thread->top;

    if (CLP_UNLIKELY(top->suspended != NULL || top->cell == &thread->outside) ||
        (top->special && CLP_UNLIKELY(top->cell->open != 0 || !clp_light_end_stay(thread, top))))
        return false;
    clp_light_pop(thread);
    return true;
}

static inline bool clp_light_last_line(struct clp_thread *thread, size_t place)
{
    if (CLP_UNLIKELY(thread->top->suspended != NULL || !clp_light_line(thread, place)))
        return false;
    clp_light_pop(thread);
    return true;
}

/* Lets the thread read no clock from now on, so that the cost of such events can be measured. */
void clp_light_stay_in_gap(struct clp_thread *thread);

/* Keeps what an ended thread knows of how slow the program is in bursts. */
void clp_light_keep_sums(struct clp_engine *engine, const struct clp_thread *thread);

/* The standard error of the self time that a line has, in ticks, as far as it comes from bursts. `cell` is a sum over
 * threads. */
double clp_light_error(const struct clp_light_cell *cell);

#endif
