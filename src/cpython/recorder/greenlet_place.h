/* SPDX-License-Identifier: MIT */
/* The greenlet module has a trace function for each thread. We take its place; the program's own one is kept for
 * it (greenlets.h calls it).
 *
 * Threads: the interpreter's lock. Nothing here runs Python code: it is done in the middle of events. */
#ifndef CLP_GREENLET_PLACE_H
#define CLP_GREENLET_PLACE_H

#include "engine/engine.h"
#include "cpython/compat/compat.h"

/* Greenlets, once their module is there. All owned. */
struct clp_greenlets {
    PyObject *settrace; /* the module's own */
    PyObject *callback; /* what is told of switches; NULL: the module was not met yet */
};

/* The calling thread tells of its switches from now on, if the module is there. */
void clp_greenlet_place_hook(const struct clp_greenlets *greenlets, struct clp_thread *thread);

/* The thread is hooked at its next event: each one that looks at memory comes by. */
void clp_greenlet_place_hook_later(struct clp_thread *thread);

/* Takes the place of the calling thread's trace function; what was there is the program's. False with an exception
 * set. */
bool clp_greenlet_place_take(const struct clp_greenlets *greenlets);

/* The program's own one in the calling thread, borrowed; NULL: it has none. Setting NULL takes it off; false
 * when that fails, maybe with an exception set. */
PyObject *clp_greenlet_place_own(void);
bool clp_greenlet_place_set_own(PyObject *function);

#endif
