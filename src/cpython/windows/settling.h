/* SPDX-License-Identifier: MIT */
/* Functions run the code that is recorded while a window is open on them, otherwise their own. This file
 * exchanges the code. Parts of a change (change.h). */
#ifndef CLP_SETTLING_H
#define CLP_SETTLING_H

#include "cpython/tracers/tracer.h"

/* Lets the function with this number be recorded, or run its own code again, as its site's `open` says. `open`
 * is right when this returns, even if it changes meanwhile. False with an exception set. */
bool clp_tracer_settle(struct clp_recorder *recorder, uint32_t function);

/* For a tracer that installs: gives one function object the code with probes, or its own code back. A copy that
 * somebody has made of code with probes has no code without them. False with an exception set. */
bool clp_tracer_open_function(struct clp_recorder *recorder, PyObject *function);
bool clp_tracer_close_function(struct clp_recorder *recorder, PyObject *function);

/* Lets one code object be recorded. False with an exception set. */
bool clp_tracer_open_code(struct clp_recorder *recorder, PyObject *code);

/* Gives up a copy with probes for good, in favour of the code that it was made of (`own`). Where its function
 * is recorded, another tracer takes that code. False with an exception set. */
bool clp_tracer_give_up(struct clp_recorder *recorder, const struct clp_selected *copy,
                        PyObject *own);

#endif
