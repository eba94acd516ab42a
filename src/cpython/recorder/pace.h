/* SPDX-License-Identifier: MIT */
/* How fast the processor runs the interpreter. A processor that others share, such as that of a virtual machine, may run
 * it half as fast for some milliseconds or seconds, and events then cost twice as much. So a fixed piece of work is timed
 * beside the calibration, and again and again during the run. The mean of these times, in terms of the calibration's, is
 * what the charges of all events are multiplied by (costs.pace). The work calls functions of the interpreter: they were
 * seen to become slower by the same factor as events do, within a tenth, and loops of C by other factors.
 * Protected as recorder_state.h says. */
#ifndef CLP_PACE_H
#define CLP_PACE_H

#include "recorder_state.h"

/* Makes what the work needs, which the process keeps. False with an exception set. */
bool clp_pace_make(struct clp_recorder *recorder);

/* Does the work twice. Returns the ticks of the quicker time: the other one may have been interrupted. */
uint64_t clp_pace_work(const struct clp_recorder *recorder);

/* Sets what the work took beside the calibration, in ticks, and begins to look. */
void clp_pace_begin(struct clp_recorder *recorder, uint64_t usual);

/* Is it time to look? */
static inline bool clp_pace_is_due(const struct clp_recorder *recorder, uint64_t now)
{
    return now >= recorder->engine.pace_next && recorder->pace.usual != 0;
}

/* Looks once, and sets costs.pace. Runs no Python code. Returns the ticks that it took, without interruptions. */
uint64_t clp_pace_look(struct clp_recorder *recorder);

/* The mean of what was seen, in terms of CLP_PACE_ONE; 0: nobody has looked. */
static inline int64_t clp_pace_mean(const struct clp_recorder *recorder)
{
    const struct clp_pace *pace = &recorder->pace;

    return pace->count > 0 ? (int64_t)(pace->sum / pace->count * CLP_PACE_ONE + 0.5) : 0;
}

#endif
