/* SPDX-License-Identifier: MIT */
/* Work of the profiler itself in the middle of the program, such as selecting a function that the program
 * defines. Neither its time nor what it allocates or reads counts for any line. begin and end enclose it. */
#ifndef CLP_OWN_WORK_H
#define CLP_OWN_WORK_H

#include "cpython/memory/hooks.h"
#include "recorder_state.h"
#include "tally_reads.h"

struct clp_own_work {
    uint64_t start;
    uint32_t busy;
};

static inline struct clp_own_work clp_own_work_begin(const struct clp_recorder *recorder)
{
    struct clp_own_work work = {clp_clock_read(&recorder->clock), clp_hooks_pause()};

    if (clp_thread_here != NULL)
        clp_tally_reads_note(clp_thread_here);
    return work;
}

static inline void clp_own_work_end(const struct clp_recorder *recorder, struct clp_own_work work)
{
    clp_hooks_resume(work.busy);
    if (clp_thread_here == NULL)
        return;
    clp_tally_reads_skip(clp_thread_here);
    clp_engine_stand_still(clp_thread_here, clp_clock_read(&recorder->clock) - work.start);
}

#endif
