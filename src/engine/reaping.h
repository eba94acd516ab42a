/* SPDX-License-Identifier: MIT */
/* Keeps the counters of threads that have ended. A thread only marks its end (clp_engine_end_thread), because
 * it has no lock then. The next thread that makes its first event reaps it (clp_recorder_new_thread), and so
 * does the child of a fork (clp_recorder_after_fork). Until then its counters are read where they are. */
#ifndef CLP_REAPING_H
#define CLP_REAPING_H

#include "engine_state.h"

/* Merges the counters of each thread that has ended into those of its group in engine->ended, and frees the
 * thread. A thread for which there is no memory stays, and is tried again next time. */
void clp_engine_reap(struct clp_engine *engine);

/* The counters of the group's ended threads, made if need be. NULL: no memory. */
struct clp_thread *clp_engine_ended_of(struct clp_engine *engine, uint32_t group);

#endif
