/* SPDX-License-Identifier: MIT */
/* Code is offered to the recorder's tracer, and what that refuses to the next one. All but the first three are parts
 * of a change (change.h). */
#ifndef CLP_OFFERING_H
#define CLP_OFFERING_H

#include "tracer.h"

/* The events of a tracer begin, and end. Probes get into copies of code by themselves; for other tracers
 * copies are watched. The program's audit hooks are told of some of it. False with an exception set. */
bool clp_tracer_begin(struct clp_recorder *recorder, const struct clp_tracer *tracer);
void clp_tracer_end(struct clp_recorder *recorder, const struct clp_tracer *tracer);

/* The events of the recorder's tracer begin again where they rest (change.h). False with an exception set. */
bool clp_tracer_wake(struct clp_recorder *recorder);

/* Afterwards the code is `on`, or there is a copy of it. What the tracer refuses goes to the next one that takes
 * it, and recorder->refusals tells of it. False with an exception set. */
bool clp_tracer_offer(struct clp_recorder *recorder, PyCodeObject *code,
                      struct clp_selected *selected);

/* Has recorder->fallback send events of the code: the first tracer behind the recorder's own that starts. False
 * with an exception set. */
bool clp_tracer_offer_next(struct clp_recorder *recorder, PyCodeObject *code,
                           struct clp_selected *selected);

/* No tracer gets the code, for this reason, a constant. False with an exception set. */
bool clp_tracer_leave_alone(struct clp_recorder *recorder, struct clp_selected *selected,
                            const char *reason);

/* What hangs on the item of code's constants if it is code that is recorded now, and may have probes but has
 * none itself; else NULL. */
struct clp_selected *clp_tracer_recorded_within(const struct clp_recorder *recorder, PyObject *item);

/* What code with probes has in the place of this constant: of selected code the copy with probes, which is made
 * if there is none; else the same. Owned; NULL with an exception set. */
PyObject *clp_tracer_inner_code(struct clp_recorder *recorder, PyObject *item);

#endif
