/* SPDX-License-Identifier: MIT */
/* Events that read the clock seldom.
 *
 *   events     | | | | | | | | | | | | | | | | | | | | | | |
 *   ticks            t                   t           t
 *   counts for       A                   B           C        A, B, C: the lines in which they fall
 *
 * - Each event counts hits and calls, keeps the stack, and is charged what it costs. Only some read the clock.
 * - A ticker, which is a thread of its own, publishes the time every 50 to 500 us, at random. Each event looks at it. In
 *   an interval between two events in which a tick falls, the line gets all the time since the tick before. So each
 *   moment counts for the line that the next tick meets. Shares are right on average, and the sum is the time that has
 *   passed: no other line is disturbed, and nothing is multiplied.
 * - The first intervals of a thread are all timed, so a short program is measured exactly. So are those of lines that
 *   had few so far or usually last long. These take no part: they count as long as they were, and a tick in one of them
 *   counts for nothing.
 *
 * Which of this holds for an interval is known when it begins.
 *
 * A thread's own clock (now - stopped) stands still where intervals are not timed, and is set on at a tick. So the rest
 * of the engine works as ever: between two events that read no clock, no time passes. An event that reads the clock reads
 * it again when it is done, and what lies between is left out. `stopped` is right for the moment of the last reading;
 * clp_light_settle sets it right for another. */
#ifndef CLP_LIGHT_H
#define CLP_LIGHT_H

#include "light_line.h"

/* Lets threads that are made from now on read the clock seldom; each event does while there are no ticks. The costs of the
 * engine must be unknown, or be set anew. */
void clp_light_turn_on(struct clp_engine *engine, const struct clp_light_ticks *ticks, uint64_t ticks_per_microsecond);

/* The time of the last tick by the clock itself. */
static inline uint64_t clp_light_last_tick(const struct clp_light *light)
{
    return __atomic_load_n(&light->ticks->last, __ATOMIC_RELAXED);
}

/* Starts a thread at `now` by the clock. */
void clp_light_begin(struct clp_thread *thread, uint64_t now);

/* Need the event not read the clock? `always`: those of its place are timed at each visit. */
static inline bool clp_light_skips(const struct clp_thread *thread, bool always)
{
    return CLP_LIKELY(!always) &&
           CLP_LIKELY(thread->light.tick == clp_light_last_tick(&thread->light));
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
    return !thread->light.on || thread->light.timed || clp_light_is_long(&thread->light, ticks);
}

/* An event that reads the clock has read `now`. `always` as above. Notes the interval that ends. */
void clp_light_read(struct clp_thread *thread, bool always, uint64_t now);

/* The event is done. Decides how the interval that begins is measured, and returns whether those of this place are timed at
 * each visit from now on. */
bool clp_light_go_on(struct clp_thread *thread, enum clp_light_kind kind);

/* An event that has read the clock ends at `now`. The thread's own clock has stood still meanwhile, and a tick in that
 * time counts for nothing. */
static inline void clp_light_end_event(struct clp_thread *thread, uint64_t now)
{
    struct clp_light *light = &thread->light;
    uint64_t event = now - light->read;

    if ((int64_t)event <= 0)
        return;
    light->inside += event;
    light->seen = clp_light_last_tick(light);
    thread->stopped += event;
    light->read = now;
}

/* Lets the next event read the clock. */
static inline void clp_light_read_next(struct clp_thread *thread)
{
    thread->light.tick = CLP_LIGHT_READ_NEXT;
}

/* Times the rest of the interval that runs, from `now` on. Within an event that has read the clock: the interval that
 * begins with it. */
void clp_light_time_rest(struct clp_thread *thread, uint64_t now);

/* Lets the thread read no clock from now on, so that the cost of such events can be measured. */
void clp_light_stay_still(struct clp_thread *thread);

/* The standard error of the self time that a line with so many hits has, in ticks. `cell` is a sum over threads. */
double clp_light_error(const struct clp_light_cell *cell, uint64_t hits);

#endif
