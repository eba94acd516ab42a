/* SPDX-License-Identifier: MIT */
/* Functions run the code that is recorded while a window is open on them, else their own: here they come to do so.
 * Parts of a change (change.h). */
#ifndef CLP_SETTLING_H
#define CLP_SETTLING_H

#include "cpython/tracers/tracer.h"

/* The function with this number is recorded from now on, or runs its own code again: as its site's `open`
 * says when this returns. False with an exception set. */
bool clp_tracer_settle(struct clp_recorder *recorder, uint32_t function);

/* Of a tracer that installs: one function object runs the code with probes. Then its own takes its place again; of
 * somebody's copy there is none without probes. False with an exception set. */
bool clp_tracer_open_function(struct clp_recorder *recorder, PyObject *function);
bool clp_tracer_close_function(struct clp_recorder *recorder, PyObject *function);

/* One code object is recorded from now on. False with an exception set. */
bool clp_tracer_open_code(struct clp_recorder *recorder, PyObject *code);

/* Code with probes is replaced by its own, for good: where its function is recorded another tracer takes
 * that. False with an exception set. */
bool clp_tracer_give_up(struct clp_recorder *recorder, const struct clp_selected *copy,
                        PyObject *own);

#endif
