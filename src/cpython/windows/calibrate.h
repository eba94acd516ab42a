/* SPDX-License-Identifier: MIT */
/* Measures what an event of a tracer costs, on code of its own, in the calling thread's counters. It runs Python
 * code, and is done in a turn (turn.h). */
#ifndef CLP_CALIBRATE_H
#define CLP_CALIBRATE_H

#include "code_window.h"

#define CLP_TIMING_LINES 4

/* Median ticks of a run of a loop, and how many of them the engine gave to the first lines of what the
 * loop calls; 0 of what is not selected. */
struct clp_timing {
    int64_t ticks, lines[CLP_TIMING_LINES];
};

struct clp_timings {
    struct clp_timing lines, calls, quick, drains;
};

struct clp_calibration {
    PyObject *numbers, *bare, *selected; /* owned */
    struct clp_timings times;            /* of `bare` */
    struct clp_timing globals, moves;    /* of these functions of `bare` */
};

/* Before the tracer starts. False with an exception set, and nothing to clear. */
bool clp_calibration_begin(struct clp_calibration *calibration, struct clp_code_window *window);

/* With the tracer running: selects functions of its own, which the caller forgets afterwards with
 * clp_recorder_forget. *error is the share of the costs by which they may be off. False with an
 * exception set. */
bool clp_calibration_measure(struct clp_calibration *calibration, struct clp_code_window *window,
                             struct clp_costs *costs, double *error);

void clp_calibration_clear(struct clp_calibration *calibration);

#endif
