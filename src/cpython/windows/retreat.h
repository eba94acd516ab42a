/* SPDX-License-Identifier: MIT */
/* Gives up probes while the program runs, for tools that read code and cannot be told of probes (readers.h).
 * This is one change (change.h). */
#ifndef CLP_RETREAT_H
#define CLP_RETREAT_H

#include "cpython/recorder/recorder_state.h"

/* Stops giving probes to code, and exchanges all code with probes that can be found for the code that it was
 * made of: in functions, and among the constants of functions and of code that runs. The next tracer takes that
 * code. `reason` is a constant. May leave an exception. */
void clp_retreat(struct clp_recorder *recorder, const char *reason);

#endif
