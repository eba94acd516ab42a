/* SPDX-License-Identifier: MIT */
/* The greenlet module has one trace function per thread. We take its place, and keep the program's own trace
 * function, which greenlets.c calls.
 *
 * Threads: the interpreter's lock protects this. Nothing here runs Python code, because it is called in the
 * middle of events. */
#ifndef CLP_GREENLET_PLACE_H
#define CLP_GREENLET_PLACE_H

#include "engine/engine.h"
#include "cpython/compat/compat.h"

/* What is known of greenlets once their module is loaded. All references are owned. */
struct clp_greenlets {
    PyObject *settrace; /* the module's own settrace() */
    PyObject *callback; /* our trace function; NULL: no module that tells of switches was met yet */
    bool met;           /* the module is there, whether it tells of switches or not */
    bool ended;         /* a thread has ended since the main thread has last reminded the interpreter; atomic */
};

/* Sets our trace function in the calling thread, if the module is there. From then on the thread tells of its
 * switches. */
void clp_greenlet_place_hook(const struct clp_greenlets *greenlets, struct clp_thread *thread);

/* Marks the thread, so that its next event calls clp_greenlet_place_hook. Until then every event takes the slow
 * path that reads memory. */
void clp_greenlet_place_hook_later(struct clp_thread *thread);

/* Called where a thread has ended, without the interpreter's lock, and in a later event of the main thread; the second
 * does nothing in other threads.
 *
 * A thread in which greenlet was used, as it is by our trace function, asks for a pending call when it ends. Before 3.13
 * this writes over the main thread's note that there is something to do besides instructions. A signal that has come just
 * then would be handled only when something else comes: a program that waits for it in a loop waits for ever. So the main
 * thread asks for a pending call, too, which makes the note anew. */
void clp_greenlet_place_note_end(struct clp_greenlets *greenlets);
void clp_greenlet_place_remind(struct clp_greenlets *greenlets);

/* Sets our trace function in the calling thread. The one that was there is kept as the program's. False with an
 * exception set. */
bool clp_greenlet_place_take(const struct clp_greenlets *greenlets);

/* The program's own trace function in the calling thread, borrowed; NULL: there is none. Setting NULL removes
 * it. Setting returns false when it fails, maybe with an exception set. */
PyObject *clp_greenlet_place_own(void);
bool clp_greenlet_place_set_own(PyObject *function);

#endif
