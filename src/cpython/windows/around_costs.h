/* SPDX-License-Identifier: MIT */
/* Measures what the probes around calls and operators cost (engine/called.h). The same small functions run bare, with
 * the probes of lines alone, and with all probes. */
#ifndef CLP_AROUND_COSTS_H
#define CLP_AROUND_COSTS_H

#include "cpython/recorder/recorder_state.h"

/* Can the tracer tell of calls and operators? */
bool clp_around_is_carried(const struct clp_recorder *recorder);

/* Prepares the recorder to count what lines call: measures the costs, the first time. Runs Python code. Where the
 * tracer cannot tell, nothing happens. False with an exception set. */
bool clp_around_start(struct clp_recorder *recorder);

#endif
