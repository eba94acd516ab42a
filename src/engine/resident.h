/* SPDX-License-Identifier: MIT */
/* Resident memory of lines. A line's sums of resident bytes are made in the same way as its times (engine.h). A
 * read is skipped when too little time for a single page fault has passed since the thread's last event. The
 * next read then carries the difference.
 *
 * Several threads. Resident size belongs to the process. The engine keeps the size as last seen, and each
 * thread the sum of the changes that it takes for its own. A thread that reads takes what it can have done
 * itself (struct clp_rss_bounds). The rest stays open for threads whose last read lies further back, because
 * they may have done it. What no thread takes is counted as a change by other threads. A thread in which
 * nothing selected runs has mostly not read for long, and could take anything. So what it takes belongs to no
 * other thread, but stays open too. */
#ifndef CLP_RESIDENT_H
#define CLP_RESIDENT_H

#include "hot.h"
#include "rss_bounds.h"

/* Begins to measure the memory of a new thread. `rss` is the size of the process now. */
void clp_engine_begin_rss(struct clp_thread *thread, int64_t rss);

/* Sets how many ticks are too few for any change of memory, in every thread. Memory is not read when less has
 * passed. */
void clp_engine_set_rss_span(struct clp_engine *engine, uint64_t ticks);

/* Begins to read memory again, or ends it. The size is `rss` now; what changed while nobody read belongs to no
 * line. `span` is what clp_engine_set_rss_span is given, UINT64_MAX to end reading. */
void clp_engine_take_up_rss(struct clp_engine *engine, int64_t rss, uint64_t span);

/* Is memory to be read for an event at `now`? */
static inline bool clp_engine_wants_rss(const struct clp_thread *thread, uint64_t now)
{
    return clp_engine_since_last(thread, now) >= thread->engine->rss_span;
}

/* Takes a resident size that was read just before an event, while the process had no other thread. */
void clp_engine_note_rss(struct clp_thread *thread, int64_t rss);

/* Takes a resident size that was read just before an event, while the process had other threads. `bounds` is
 * what this thread can have done. */
void clp_engine_share_rss(struct clp_thread *thread, int64_t rss, struct clp_rss_bounds bounds);

/* How many of the ticks that a read took are its cost. When a read takes many times as long as others, the
 * system has given the processor to another thread or process meanwhile. The rest is then wall time of the
 * program. */
uint64_t clp_read_cost_of(struct clp_read_cost *cost, uint64_t ticks);

/* Has nothing changed since this thread's last read, so that there is nothing to share? */
static inline bool clp_engine_is_settled(const struct clp_thread *thread, int64_t rss)
{
    return rss == thread->engine->rss && thread->changes == thread->engine->changes;
}

#endif
