/* SPDX-License-Identifier: MIT */
/* What events cost: each thread keeps what its events are charged. */
#ifndef CLP_EVENT_COSTS_H
#define CLP_EVENT_COSTS_H

#include "engine_state.h"

/* Sets what events cost. Call it before the first event. All costs are 0 until then. */
void clp_engine_set_costs(struct clp_engine *engine, const struct clp_costs *costs);

/* Gives a new thread the engine's costs. */
void clp_engine_begin_costs(struct clp_thread *thread);

/* Adds to a signed sum. Numbers from a damaged live file may not fit into it: the sum is then wrong, but no
 * behaviour is undefined. */
static inline void clp_engine_add_total(int64_t *sum, int64_t value)
{
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)value);
}

#endif
