/* SPDX-License-Identifier: MIT */
/* Code that others hold, too. A function with probes has left its own code object behind, but running frames,
 * suspended generators and other functions made of the same code still have it. Part of a change (change.h):
 * functions are looked up anew each time, and none is kept. */
#ifndef CLP_SHARED_H
#define CLP_SHARED_H

#include "cpython/tracers/tracer.h"

/* Makes the lines of `code`, whose function has got selected->copy, count wherever else the code runs. On 3.12
 * and newer the code is watched. On 3.11 the functions that have it get the copy, and so does the function that
 * makes them, which is looked up in `names`, the module's globals; what is running already is not counted until
 * it is called again. False with an exception set. */
bool clp_shared_select(struct clp_recorder *recorder, PyCodeObject *code,
                       struct clp_selected *selected, PyObject *names);

/* Does what clp_shared_select does for code among the constants of other code, which hold the copy already.
 * False with an exception set. */
bool clp_shared_select_inner(struct clp_recorder *recorder, PyCodeObject *code,
                             struct clp_selected *selected);

#endif
