/* SPDX-License-Identifier: MIT */
/* Offers code to the recorder's tracer, and what this one refuses to the next one. All functions but the first
 * three are parts of a change (change.h). */
#ifndef CLP_OFFERING_H
#define CLP_OFFERING_H

#include "tracer.h"

/* Begin and end the events of a tracer. Probes get into copies of code by themselves; for the other tracers
 * copies are watched. The program's audit hooks are told of some of it. False with an exception set. */
bool clp_tracer_begin(struct clp_recorder *recorder, const struct clp_tracer *tracer);
void clp_tracer_end(struct clp_recorder *recorder, const struct clp_tracer *tracer);

/* Lets the events of the recorder's tracer begin again if they are at rest (change.h). False with an exception
 * set. */
bool clp_tracer_wake(struct clp_recorder *recorder);

/* Offers the code to the recorder's tracer, and if this one refuses, to the next one that takes it.
 * recorder->refusals then tells of it. Afterwards the code is `on`, or there is a copy of it with probes. False
 * with an exception set. */
bool clp_tracer_offer(struct clp_recorder *recorder, PyCodeObject *code,
                      struct clp_selected *selected);

/* Lets recorder->fallback send events of the code. The fallback is the first tracer behind the recorder's own
 * that starts. False with an exception set. */
bool clp_tracer_offer_next(struct clp_recorder *recorder, PyCodeObject *code,
                           struct clp_selected *selected);

/* Notes that no tracer gets the code. `reason` is a constant. False with an exception set. */
bool clp_tracer_leave_alone(struct clp_recorder *recorder, struct clp_selected *selected,
                            const char *reason);

/* The data of `item`, one of code's constants, if it is code that is recorded now, and may have probes but has
 * none itself; else NULL. */
struct clp_selected *clp_tracer_recorded_within(const struct clp_recorder *recorder, PyObject *item);

/* What code with probes has in the place of the constant `item`: for selected code its copy with probes, which
 * is made if there is none; else `item` itself. A new reference; NULL with an exception set. */
PyObject *clp_tracer_inner_code(struct clp_recorder *recorder, PyObject *item);

#endif
