/* SPDX-License-Identifier: MIT */
/* Turns a function's counters into times, from which the cost of the profiler's own events is subtracted.
 *
 * A line is charged the average cost of the events that lie in its intervals (engine.h). How much of an event
 * the processor hides behind other work differs from line to line, so a short line may have less time than it
 * is charged. A time of 0 there would make the function longer than it is. So a line's time never falls below
 * what its instructions take, and the other lines of the function pay the difference:
 *
 *     self = raw self - factor * charge,    not below the floor
 *
 * All lines have one factor. It is such that the self times sum to all raw times less all charges. The factor
 * is limited: no average is off by more, and a long line must not pay for a million short ones.
 *
 * What is left of a short line may also be too much, because its events cost more than the average. So what a
 * line has above its floor shrinks where it is well below the usual error of the charge. All times are then
 * multiplied by one scale, which keeps the sum. No line gets more than its intervals. So among lines that are
 * too short to be told apart, time goes by instructions. */
#ifndef CLP_CHARGES_H
#define CLP_CHARGES_H

#include "engine_state.h"

/* What applies to the counters of one function. Times are in ticks. */
struct clp_charges {
    const struct clp_costs *costs;     /* borrowed */
    const struct clp_function *function; /* borrowed: whose the counters are */
    double factor, scale;
};

/* The charges for these counters of the function, in which all threads are summed. */
struct clp_charges clp_charges_of(const struct clp_block *sum, const struct clp_costs *costs,
                                  const struct clp_function *function);

/* The self time of a line, in ticks. It is above 0 where the line has hits and the costs say what an
 * instruction takes. */
double clp_charges_self(const struct clp_charges *charges, const struct clp_block *sum, uint32_t line);

/* What selected callees add to a line's time, in ticks. Never below 0. */
double clp_charges_nested(const struct clp_charges *charges, const struct clp_cell *cell);

/* How much more the times of the lines sum to than the function's time, in ticks: executions that lie within
 * other executions of the function, less those that no line has. It is 0 for a function that does not call
 * itself. */
double clp_charges_overlap(const struct clp_charges *charges, const struct clp_block *sum);

#endif
