/* SPDX-License-Identifier: MIT */
/* Keeps the counters of threads that have ended. */
#ifndef CLP_REAPING_H
#define CLP_REAPING_H

#include "engine_state.h"

/* Merges the counters of each thread that has ended into those of its group in engine->ended, and frees the
 * thread. A thread for which there is no memory stays, and is tried again next time. */
void clp_engine_reap(struct clp_engine *engine);

#endif
