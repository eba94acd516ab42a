/* SPDX-License-Identifier: MIT */
/* A change of what is recorded: from its beginning to its end no Python code is run, and the tracer goes on
 * (recorder_state.h says why). Changes that are a window's begin with clp_code_window_hold (code_window.h).
 * May be nested.
 *
 * When no window is open any more, the tracer's events rest at the end of the last change, until clp_tracer_wake
 * (offering.h). */
#ifndef CLP_CHANGE_H
#define CLP_CHANGE_H

#include "cpython/recorder/recorder_state.h"

void clp_change_begin(struct clp_recorder *recorder);
void clp_change_end(struct clp_recorder *recorder);

#endif
