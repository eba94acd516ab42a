/* SPDX-License-Identifier: MIT */
/* The recorder gets its tracer. */
#ifndef CLP_STARTING_H
#define CLP_STARTING_H

#include "cpython/recorder/recorder_state.h"

/* Starts the named tracer, or for NULL and "auto" the first that starts, and measures what its
 * events cost, which runs Python code: in a turn (turn.h). Once; false with an exception set. */
bool clp_tracer_start(struct clp_recorder *recorder, const char *name);

#endif
