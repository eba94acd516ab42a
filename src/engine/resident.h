/* SPDX-License-Identifier: MIT */
/* Resident memory of lines. A line's sums of resident bytes are made as those of its time (engine.h). A read is
 * skipped when too little time has passed since the thread's last event for a single page fault; the next read
 * carries the difference.
 *
 * Several threads. Resident size belongs to the process: the engine keeps it as last seen, and each
 * thread the sum of what it takes for its own. A thread that reads takes what it can have done
 * itself (struct clp_rss_bounds); the rest stays open, for threads whose last read lies further back:
 * their doing may be in it. What nobody takes is the other threads'. A thread in which nothing
 * selected runs has mostly been on its own for long, and could take anything: what it takes is no
 * other thread's, but stays open too. */
#ifndef CLP_RESIDENT_H
#define CLP_RESIDENT_H

#include "engine_state.h"
#include "rss_bounds.h"

/* A thread is new while the process is so large. */
void clp_engine_begin_rss(struct clp_thread *thread, int64_t rss);

/* So many ticks are too few for any change of memory: reads are skipped by that in every thread. */
void clp_engine_set_rss_span(struct clp_engine *engine, uint64_t ticks);

/* Resident memory is read from now on: every block gets room for it. Once; false: no memory, some
 * have it, and it may be tried again. */
bool clp_engine_add_rss(struct clp_engine *engine);

/* Memory was not read for a while, and is `rss` now; what changed meanwhile is nobody's. `span` is the
 * engine's rss_span from now on, UINT64_MAX when reading ends. */
void clp_engine_take_up_rss(struct clp_engine *engine, int64_t rss, uint64_t span);

static inline bool clp_engine_wants_rss(const struct clp_thread *thread, uint64_t now)
{
    return now - thread->stopped - thread->last >= thread->rss_span;
}

/* Resident memory was read just before an event, while the process had no other thread. */
void clp_engine_note_rss(struct clp_thread *thread, int64_t rss);

/* Resident memory was read just before an event, while the process had other threads. */
void clp_engine_share_rss(struct clp_thread *thread, int64_t rss, struct clp_rss_bounds reach);

/* A read took so many ticks: how many of them it cost. Where it took many times as long as others, the
 * system had given the processor to somebody else meanwhile, and the rest is the program's wall time. */
uint64_t clp_engine_read_cost(struct clp_engine *engine, uint64_t ticks);

/* Is there nothing to share: has nothing changed since the thread's last read? */
static inline bool clp_engine_is_settled(const struct clp_thread *thread, int64_t rss)
{
    return rss == thread->engine->rss && thread->changes == thread->engine->changes;
}

#endif
