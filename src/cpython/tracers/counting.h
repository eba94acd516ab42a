/* SPDX-License-Identifier: MIT */
/* The tracer `light`: CPython 3.11 and newer. A selected function gets a copy of its code in which counters stand on some ways
 * (src/rewrite/flow.h). Passing one adds 1 to a number, and that is all that happens in the program's own thread. Hits are made
 * of these numbers when somebody looks (engine/ways.h). */
#ifndef CLP_COUNTING_H
#define CLP_COUNTING_H

#include "tracer.h"

#if CLP_HAS_PROBES
extern const struct clp_tracer clp_tracer_counting;
#endif

/* Ends sampling until the next window opens. Nothing happens with other tracers. */
void clp_counting_rest(struct clp_recorder *recorder);

/* Lets samples be taken again, where this tracer is on. */
void clp_counting_wake(struct clp_recorder *recorder);

/* Gives lines the hits that were counted up to now. Call it whenever the engine's counters are about to be looked at. Does
 * nothing where no code has counters. No Python code is run. */
void clp_counting_look(struct clp_recorder *recorder);

/* Does what clp_counting_look does, where only the counters of this function are about to be looked at. */
void clp_counting_look_at(struct clp_recorder *recorder, uint32_t function);

#endif
