/* SPDX-License-Identifier: MIT */
/* From a function's counters to its times: what the profiler's own events cost is taken off.
 *
 * A line is charged the average cost of the events that lie in its intervals (engine.h). How much of an
 * event the processor hides differs from line to line, so a short line may have less than it is charged.
 * Left at zero there, it would make the function longer than it is. So its time never falls below what
 * its instructions take, and the other lines of the function pay the difference:
 *
 *     self = raw self - factor * charge,    not below the floor
 *
 * with one factor for all lines, such that the self times sum to all raw times less all charges. The
 * factor is limited: no average is off by more, and a long line must not pay for a million short ones. */
#ifndef CLP_CHARGES_H
#define CLP_CHARGES_H

#include "engine_state.h"

/* Times in ticks. */
struct clp_charges {
    const struct clp_costs *costs;     /* borrowed */
    const struct clp_function *function; /* borrowed: whose the counters are */
    double factor;
};

/* What applies to these counters of the function, all threads summed. */
struct clp_charges clp_charges_of(const struct clp_block *sum, const struct clp_costs *costs,
                                  const struct clp_function *function);

/* Self time of a line. Above 0 where the line has hits and the costs say what an instruction takes. */
double clp_charges_self(const struct clp_charges *charges, const struct clp_block *sum, uint32_t line);

/* What selected callees add to the line's time. Never below 0. */
double clp_charges_nested(const struct clp_cell *cell);

/* By how much the times of the lines sum to more than the function's: executions that lie within
 * others of the function, less those that no line has. 0 of a function that does not call itself. */
double clp_charges_overlap(const struct clp_charges *charges, const struct clp_block *sum);

#endif
