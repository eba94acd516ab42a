/* SPDX-License-Identifier: MIT */
/* A change of what is recorded. From its beginning to its end no Python code is run, and the tracer goes on
 * (recorder_state.h says why). Changes of one window begin with clp_code_window_hold (code_window.h). Changes
 * may be nested.
 *
 * If no window is open when the last change ends, the tracer's events stop then, until clp_tracer_wake
 * (offering.h). */
#ifndef CLP_CHANGE_H
#define CLP_CHANGE_H

#include "cpython/recorder/recorder_state.h"

void clp_change_begin(struct clp_recorder *recorder);
void clp_change_end(struct clp_recorder *recorder);

#endif
