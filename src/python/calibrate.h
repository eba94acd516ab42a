/* SPDX-License-Identifier: MIT */
/* Measures what an event of a tracer costs, on code of its own. */
#ifndef CLP_CALIBRATE_H
#define CLP_CALIBRATE_H

#include "window.h"

/* Ticks of the quickest of several runs. */
struct clp_bare_times {
    uint64_t lines, calls, quick_calls, drains;
};

struct clp_calibration {
    PyObject *numbers, *bare, *selected; /* owned */
    struct clp_bare_times times;
};

/* Before the tracer starts. False with an exception set, and nothing to clear. */
bool clp_calibration_begin(struct clp_calibration *calibration, struct clp_window *window);

/* With the tracer running: selects functions of its own, which the caller forgets afterwards with
 * clp_recorder_forget. *error is the share of the costs by which they may be off. False with an
 * exception set. */
bool clp_calibration_measure(struct clp_calibration *calibration, struct clp_window *window,
                             struct clp_costs *costs, double *error);

void clp_calibration_clear(struct clp_calibration *calibration);

#endif
