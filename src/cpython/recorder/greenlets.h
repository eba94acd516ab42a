/* SPDX-License-Identifier: MIT */
/* Greenlets: stacks of the program's own, between which a thread switches at any call. The greenlet
 * module tells of each switch, through the trace function that it has for each thread. We take that
 * place, as soon as the module is there, and call the program's own trace function ourselves.
 *
 * Threads: the interpreter's lock. clp_greenlets_meet runs Python code and may be called by several threads at
 * once: what one has found stays. A switch is an event and runs none. */
#ifndef CLP_GREENLETS_H
#define CLP_GREENLETS_H

#include "recorder_state.h"

/* The module was loaded: switches are told from now on. May leave an exception; nothing else fails. */
void clp_greenlets_meet(struct clp_recorder *recorder, PyObject *module);

#endif
