/* SPDX-License-Identifier: MIT */
/* How long lines did not have the processor. A thread waits for the time that passes less the processor time that it
 * uses. The processor time is read before an event, if the interval that ends there is long enough. Then all waiting
 * since the last read belongs to the line of this interval, because shorter intervals hardly wait. Both times include
 * what the profiler itself does, so its work cancels out. */
#ifndef CLP_WAITING_H
#define CLP_WAITING_H

#include "hot.h"

/* Sets how many ticks an interval must last at least so that processor time is read at its end; UINT64_MAX: it is
 * never read. Waiting of at most `noise` ticks may be an error of a read, and is kept for the next one. */
void clp_engine_set_cpu_span(struct clp_engine *engine, uint64_t ticks, uint64_t noise);

/* The waiting of the line on top; NULL: there is none. */
static inline struct clp_cpu_cell *clp_waiting_of_top(const struct clp_thread *thread)
{
    const struct clp_activation *top = thread->top;

    if (top->cell == &thread->outside)
        return NULL;
    return &clp_block_cpu(top->block)[clp_engine_line_index(top)];
}

/* Is processor time to be read for an event at `now`? */
static inline bool clp_engine_wants_cpu(const struct clp_thread *thread, uint64_t now)
{
    return clp_engine_since_last(thread, now) >= thread->engine->cpu_span;
}

/* Takes the thread's processor time, read at `at` by the clock itself, just before an event. Ticks. Returns how long
 * the line on top has waited. The first read of a thread only says where counting begins. */
uint64_t clp_waiting_note(struct clp_thread *thread, uint64_t at, uint64_t used);

/* What passed since the last read is in no time, so nobody has waited then. `at` and `used` are as above. */
void clp_waiting_skip(struct clp_thread *thread, uint64_t at, uint64_t used);

/* Takes the time that the thread has spent in the run queue since it began. What is new of it belongs to the line on
 * top, which has just waited `waited`. Ticks. */
void clp_waiting_note_queue(struct clp_thread *thread, uint64_t queued, uint64_t waited);

#endif
