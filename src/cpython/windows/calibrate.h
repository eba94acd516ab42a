/* SPDX-License-Identifier: MIT */
/* Measures what an event of a tracer costs, on code of its own, in the calling thread's counters. It runs
 * Python code, in a turn (turn.h). */
#ifndef CLP_CALIBRATE_H
#define CLP_CALIBRATE_H

#include "code_window.h"

#define CLP_TIMING_LINES 4

/* First quartiles of several runs of a loop, in ticks: the whole run, and what the engine gave to the watched lines
 * of the function that the loop calls (0 where the function is not selected). */
struct clp_timing {
    int64_t ticks, lines[CLP_TIMING_LINES];
};

/* Timings of the loops of the calibration program. */
struct clp_timings {
    struct clp_timing lines, turns, calls, quick, drains, globals, merges, strays, dives;
};

struct clp_calibration {
    PyObject *numbers, *bare, *selected; /* owned */
    struct clp_timings times;            /* timings of `bare` before the tracer started */
    struct clp_timing moves;             /* the same, of moves() */
    int64_t bare_work; /* what the fixed work took beside `times` (pace.h), in ticks */
    uint64_t work;     /* the same beside the costs */
};

/* Runs the functions bare. Call it before the tracer starts. False with an exception set, and nothing to clear. */
bool clp_calibration_begin(struct clp_calibration *calibration, struct clp_code_window *window);

/* Runs the functions with the tracer, and sets *costs. It selects functions of its own; the caller forgets them
 * afterwards with clp_recorder_forget. *error is the share of the costs by which they may be wrong. False with
 * an exception set. */
bool clp_calibration_measure(struct clp_calibration *calibration, struct clp_code_window *window,
                             struct clp_costs *costs, double *error);

void clp_calibration_clear(struct clp_calibration *calibration);

#endif
