/* SPDX-License-Identifier: MIT */
/* Resident memory where few events read it.
 *
 *   events     | | | | | | | | | | | | | | | | | | | | | | | | |
 *   ticks          t             t               t
 *   reads          r             r r r r r       r
 *                  ^ open        ^ known         ^ open
 *
 * - A change is known to be a line's where memory is read when an interval begins, and when it ends. That is so for lines
 *   that usually last long, for the first executions of each line, and in bursts: once in a millisecond, and more often
 *   while memory changes, intervals behind a tick are timed. Memory is read after those of them that are long enough for a
 *   change.
 * - What changes in between is seen at the next tick, or when an interval of the first kind begins. It stays open: it is
 *   not known whose it is, and growth and releases may have cancelled out.
 * - A line that changes memory in a burst gets that change as many times as there were more events before the burst than in
 *   it. So growth is right on average, and so are releases. What is open then, as far as it was not this much, is divided
 *   in later bursts between the lines that change memory, by the size of their changes. So the sum over all lines is what
 *   has changed, but for what is open at the end, which counts as a change that is no line's.
 * - A tick meets a line the more often, the longer it lasts. A burst does not begin behind each tick, but as often behind a
 *   long line as behind a short one.
 * - After a single stay that lasted longer than all that lies between some ticks, a change that is large beside what ticks
 *   see otherwise is the line's.
 *
 * How far a line may be wrong is told as for times (light.h), by the squares of what it got without being known. */
#ifndef CLP_LIGHT_MEMORY_H
#define CLP_LIGHT_MEMORY_H

#include "hot.h"

/* An event has read the clock. The interval that ends is known. `always` as in clp_light_read. */
void clp_light_memory_begin_event(struct clp_thread *thread, bool always);

/* Memory was read, and has changed by `own` bytes by this thread's doing. Returns how many bytes count for the interval
 * that ends. */
int64_t clp_light_memory_take(struct clp_thread *thread, int64_t own);

/* The event ends. */
void clp_light_memory_end_event(struct clp_thread *thread);

/* Reading begins anew. What is open stays nobody's. */
void clp_light_memory_forget(struct clp_thread *thread);

/* The bytes that no line has, with their sign. */
static inline int64_t clp_light_memory_left(const struct clp_thread *thread)
{
    const struct clp_light_memory *memory = &thread->light.memory;

    return memory->open + memory->next + memory->due + memory->lost;
}

/* How many ticks a line must usually last to be timed at each visit. Reads must be little beside it. */
uint64_t clp_light_memory_long_line(const struct clp_thread *thread);

/* The standard error of the bytes that a line has, as clp_light_error. */
double clp_light_memory_error(const struct clp_light_cell *cell);

#endif
