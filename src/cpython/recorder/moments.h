/* SPDX-License-Identifier: MIT */
/* The moment of an event: its time, and resident memory and processor time, which are read where they may have changed.
 * Protected as recorder_state.h says. */
#ifndef CLP_MOMENTS_H
#define CLP_MOMENTS_H

#include "engine/resident.h"
#include "recorder_state.h"

/* ---- events ---- */

/* An event's time, and how long the clock stands still after it because something was read. Ticks. */
struct clp_moment {
    uint64_t now;
    uint64_t still;
};

/* Reads resident memory and processor time, as far as they are wanted, for an event at `now`. If a read was interrupted,
 * the event's time is that much later: the system takes the processor from a thread that has used up its turn when the
 * thread makes a system call. The wait belongs to the line that ends, whose work used up the turn. */
struct clp_moment clp_recorder_read(struct clp_recorder *recorder, struct clp_thread *thread,
                                        uint64_t now);

static inline struct clp_moment clp_recorder_begin(struct clp_recorder *recorder,
                                                   struct clp_thread *thread)
{
    struct clp_moment moment = {.now = clp_clock_read(&recorder->clock)};

    if (CLP_UNLIKELY(clp_engine_wants_read(thread, moment.now)))
        return clp_recorder_read(recorder, thread, moment.now);
    return moment;
}

/* Reads processor time, where it is wanted, for a moment within a line. What that costs is in no time. */
void clp_recorder_see_waiting(struct clp_recorder *recorder, struct clp_thread *thread);

/* Ends an event for which something was read. */
void clp_recorder_end_slow(struct clp_thread *thread, uint64_t still);

static inline void clp_recorder_end(struct clp_thread *thread, struct clp_moment moment)
{
    if (CLP_UNLIKELY(moment.still != 0))
        clp_recorder_end_slow(thread, moment.still);
}

/* ---- reading memory ---- */

/* Lets memory be read in this way, where /proc allows it. Must not be called while somebody wants another way.
 * False with an exception set. */
bool clp_recorder_open_memory(struct clp_recorder *recorder, enum clp_memory memory);

/* Count the windows for which memory is read. */
void clp_recorder_begin_reading(struct clp_recorder *recorder);
void clp_recorder_end_reading(struct clp_recorder *recorder);

/* Opens the files of this process under /proc, because those of a fork are still the parent's. */
void clp_recorder_reopen_memory(struct clp_recorder *recorder);

/* Sets *rss to the program's memory as it is now. False when it cannot be read; *rss is then as it was. */
bool clp_recorder_see_memory(struct clp_recorder *recorder, int64_t *rss);

/* How many ticks a line must last at least so that memory is read for it; UINT64_MAX: it is never read. */
uint64_t clp_recorder_rss_span(const struct clp_recorder *recorder);

/* Starts to measure what the calling thread uses: page faults, processor time, and its waiting. */
void clp_recorder_begin_use(struct clp_thread *thread, uint64_t now);

#endif
