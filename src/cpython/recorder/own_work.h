/* SPDX-License-Identifier: MIT */
/* Work of the profiler itself in the middle of the program, such as selecting a function that the program
 * defines. Neither its time nor what it allocates or reads counts for any line. begin and end enclose it.
 *
 * Its time is processor time. While others have the processor, the program waits, as it would without the work: that is
 * the program's wall time, on whatever machine it runs. */
#ifndef CLP_OWN_WORK_H
#define CLP_OWN_WORK_H

#include "cpython/memory/hooks.h"
#include "recorder_state.h"
#include "tally_reads.h"

struct clp_own_work {
    uint64_t start; /* the clock, ticks */
    uint64_t used;  /* the thread's processor time, nanoseconds; 0: the system does not tell it */
    uint32_t busy;
};

static inline struct clp_own_work clp_own_work_begin(const struct clp_recorder *recorder)
{
    struct clp_own_work work = {clp_clock_read(&recorder->clock), clp_thread_cpu_nanos(), clp_hooks_pause()};

    if (clp_thread_here != NULL)
        clp_tally_reads_note(clp_thread_here);
    return work;
}

/* Ends the work, without taking it out of the thread's time. Returns the ticks that it took. */
static inline uint64_t clp_own_work_take(const struct clp_recorder *recorder, struct clp_own_work work)
{
    clp_hooks_resume(work.busy);
    if (clp_thread_here != NULL)
        clp_tally_reads_skip(clp_thread_here);
    uint64_t used = clp_clock_ticks(&recorder->clock, (double)(clp_thread_cpu_nanos() - work.used));
    uint64_t passed = clp_clock_read(&recorder->clock) - work.start;
    return work.used != 0 && used < passed ? used : passed;
}

/* Ends the work, and returns the ticks that it took. */
static inline uint64_t clp_own_work_end(const struct clp_recorder *recorder, struct clp_own_work work)
{
    uint64_t ticks = clp_own_work_take(recorder, work);

    if (clp_thread_here != NULL)
        clp_engine_stand_still(clp_thread_here, ticks);
    return ticks;
}

#endif
