/* SPDX-License-Identifier: MIT */
/* The counters of threads that have ended. */
#ifndef CLP_REAPING_H
#define CLP_REAPING_H

#include "engine_state.h"

/* Merges the counters of threads that have ended into those of their group in engine->ended, and frees
 * them. */
void clp_engine_reap(struct clp_engine *engine);

#endif
