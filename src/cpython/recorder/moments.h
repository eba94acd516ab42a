/* SPDX-License-Identifier: MIT */
/* An event's moment: its time, and resident memory, which is read where it may have changed. Protected as
 * recorder_state.h says. */
#ifndef CLP_MOMENTS_H
#define CLP_MOMENTS_H

#include "engine/resident.h"
#include "recorder_state.h"

/* ---- of events ---- */

/* An event's time, and for how long the clock stands still after it, because memory was read. */
struct clp_moment {
    uint64_t now;
    uint64_t still;
};

/* Reads resident memory into the thread. If the read was interrupted, the event comes later by that: where
 * a thread has used up its time, the system takes the processor away when it is asked for something, and
 * what used it up is the line that ends. */
struct clp_moment clp_recorder_read_rss(struct clp_recorder *recorder, struct clp_thread *thread,
                                        uint64_t now);

static inline struct clp_moment clp_recorder_begin(struct clp_recorder *recorder,
                                                   struct clp_thread *thread)
{
    struct clp_moment moment = {.now = clp_clock_read(&recorder->clock)};

    if (CLP_UNLIKELY(clp_engine_wants_rss(thread, moment.now)))
        return clp_recorder_read_rss(recorder, thread, moment.now);
    return moment;
}

/* Behind an event for which memory was read. */
void clp_recorder_end_slow(struct clp_thread *thread, uint64_t still);

static inline void clp_recorder_end(struct clp_thread *thread, struct clp_moment moment)
{
    if (CLP_UNLIKELY(moment.still != 0))
        clp_recorder_end_slow(thread, moment.still);
}

/* ---- reading memory ---- */

/* Memory can be read, in this way, where /proc allows it. Nobody else may want another way now. False
 * with an exception set. */
bool clp_recorder_open_memory(struct clp_recorder *recorder, enum clp_memory memory);

/* One window more, or less, for which memory is read. */
void clp_recorder_begin_reading(struct clp_recorder *recorder);
void clp_recorder_end_reading(struct clp_recorder *recorder);

/* The file under /proc is still the parent's of a fork: memory is read from this process's own. */
void clp_recorder_reopen_memory(struct clp_recorder *recorder);

/* As resident memory is now: false when it is not read, and nothing changes. */
bool clp_recorder_see_memory(struct clp_recorder *recorder, int64_t *rss);

/* How long a line lasts at least for which memory is read, in ticks; UINT64_MAX: it is read for none. */
uint64_t clp_recorder_rss_span(const struct clp_recorder *recorder);

/* What the calling thread has used so far is looked at: what comes later is measured from here. */
void clp_recorder_begin_use(struct clp_thread *thread, uint64_t now);

#endif
