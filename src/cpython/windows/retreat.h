/* SPDX-License-Identifier: MIT */
/* Probes are given up while the program runs: for tools that read code and cannot be told of probes
 * (readers.h). This is one change (change.h). */
#ifndef CLP_RETREAT_H
#define CLP_RETREAT_H

#include "cpython/recorder/recorder_state.h"

/* No code gets probes any more, and all that can be found with probes is exchanged for the code that it was:
 * in functions, and among the constants of functions and of what runs. The next tracer takes it.
 * `reason` is a constant. May leave an exception. */
void clp_retreat(struct clp_recorder *recorder, const char *reason);

#endif
