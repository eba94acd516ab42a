/* SPDX-License-Identifier: MIT */
/* Resident memory where few events read it.
 *
 *   events     | | | | | | | | | | | | | | | | | | | | | | | | |
 *   ticks          t             t               t
 *   reads          r             r r r r r       r
 *                  ^ open        ^ known         ^ open
 *
 * - A change is known to be a line's where memory is read when an interval begins, and when it ends. That is so for lines
 *   that usually last long, for the first executions of each line, and in bursts: once in a millisecond at most, the
 *   intervals behind a tick are timed. Memory is read after those of them that are long enough for a change.
 * - What changes in between is seen at the next tick, or when an interval of the first kind begins. It stays open: no line
 *   has it. The lines that change memory in bursts share what is open, growth and releases apart. So a line gets what is
 *   open as often as it changes memory, and the sum over all lines is what has changed, but for what is open at the end.
 *   That counts as a change that is no line's (resident.h).
 * - After a single stay that lasted longer than all that lies between two ticks, what has changed is the line's.
 *
 * How far a line may be wrong is told as for times (light.h), by the squares of what it got of what was open. */
#ifndef CLP_LIGHT_MEMORY_H
#define CLP_LIGHT_MEMORY_H

#include "hot.h"

/* An event has read the clock. The interval that ends is known. `always` as in clp_light_read. */
void clp_light_memory_begin_event(struct clp_thread *thread, bool always);

/* Memory was read, and has changed by `own` bytes by this thread's doing. Returns how many of them, and of those that are
 * open, count for the interval that ends. */
int64_t clp_light_memory_take(struct clp_thread *thread, int64_t own);

/* The event ends. */
void clp_light_memory_end_event(struct clp_thread *thread);

/* How many ticks a line must usually last to be timed at each visit. Reads must be little beside it. */
uint64_t clp_light_memory_long_line(const struct clp_thread *thread);

#endif
