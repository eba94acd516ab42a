/* SPDX-License-Identifier: MIT */
/* A range of NVTX (os/nvtx.h) for each activation of a thread: for each selected function that runs, and each `with`
 * block. While there are ranges, every event takes the slow way, and at its end the ranges of the thread are made those
 * of its stack. So they balance whatever happens to the stack: what is gone from it is popped, by the thread itself,
 * which is the only one that can pop its ranges.
 *
 * Other threads may have taken activations off the stack. Then the ranges follow at the thread's next event, or at its
 * end. Protected as recorder_state.h says; clp_ranges_end needs no lock. */
#ifndef CLP_RANGES_H
#define CLP_RANGES_H

#include "recorder_state.h"

/* Count the profilers that want ranges. False: no tool listens. */
bool clp_ranges_start(struct clp_recorder *recorder);
void clp_ranges_stop(struct clp_recorder *recorder);

/* Makes the ranges of the calling thread those of its stack, except while its blocks are lifted. */
void clp_ranges_follow(struct clp_thread *thread);

/* Makes the ranges of the calling thread those of its stack where something may have changed that no event tells of. */
static inline void clp_ranges_catch_up(void)
{
    if (clp_thread_here != NULL && CLP_UNLIKELY(clp_thread_here->ranges != NULL))
        clp_ranges_follow(clp_thread_here);
}

/* Pops all ranges of the calling thread, which ends. */
void clp_ranges_end(struct clp_thread *thread);

#endif
