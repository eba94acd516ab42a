/* SPDX-License-Identifier: MIT */
/* Gives the recorder its tracer. */
#ifndef CLP_STARTING_H
#define CLP_STARTING_H

#include "cpython/recorder/recorder_state.h"

/* Starts the named tracer; for NULL and "auto" the first that starts. Measures what its events cost, which runs
 * Python code, so it is done in a turn (turn.h). Called once. False with an exception set. */
bool clp_tracer_start(struct clp_recorder *recorder, const char *name);

/* Has nobody selected anything but this view, the only one, or recorded in another thread? Then the engine may forget
 * what a calibration has counted. */
bool clp_starting_is_alone(const struct clp_recorder *recorder, const struct clp_view *view);

#endif
