/* SPDX-License-Identifier: MIT */
/* Code that others hold, too: a function with probes has left its code object behind, but frames
 * that run, suspended generators and other functions made of the same code still have it. Part of a change
 * (change.h): it looks functions up anew each time, and keeps none. */
#ifndef CLP_SHARED_H
#define CLP_SHARED_H

#include "cpython/tracers/tracer.h"

/* Sees to it that the lines of `code`, whose function has got selected->copy, count wherever else it
 * runs. Where it can be watched (3.12 and newer) it is; on 3.11 the functions that have it get the
 * copy, and so does the function that makes them, looked up in `names`, the module's; what runs
 * already is not counted until it is called again. False with an exception set. */
bool clp_shared_select(struct clp_recorder *recorder, PyCodeObject *code,
                       struct clp_selected *selected, PyObject *names);

/* Selects code among the constants of other code. The constants hold the copy already. */
bool clp_shared_select_inner(struct clp_recorder *recorder, PyCodeObject *code,
                             struct clp_selected *selected);

#endif
