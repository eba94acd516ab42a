/* SPDX-License-Identifier: MIT */
/* Greenlets: stacks of the program's own, between which a thread can switch at any call. The greenlet module
 * tells a trace function of each switch, one for each thread. We take its place as soon as the module is
 * loaded, and call the program's own trace function ourselves.
 *
 * Threads: the interpreter's lock protects this. clp_greenlets_meet runs Python code, and several threads may
 * call it at once: what the first one finds stays. A switch is an event, and runs no Python code of the
 * profiler's. */
#ifndef CLP_GREENLETS_H
#define CLP_GREENLETS_H

#include "recorder_state.h"

/* Call this when the module is loaded: switches are recorded from then on. It may leave an exception. Nothing
 * is recorded of a module without settrace(). */
void clp_greenlets_meet(struct clp_recorder *recorder, PyObject *module);

#endif
