/* SPDX-License-Identifier: MIT */
/* A thread has one place for a trace function. This file shares it with the program and its tools:
 *
 *   c_tracefunc   our function, which passes each event on
 *   c_traceobj    the object of the other trace function, so that sys.gettrace() shows it;
 *                 NULL: nobody else wants the place
 *
 * Nothing else is kept for a thread, so a tool that saves both and puts them back later gets what it had. Two
 * things take the place from us. One is sys.settrace: it calls us, because the C function within the built-in
 * is exchanged, and whoever holds the built-in holds ours. The other is PyEval_SetTrace in a tool's C code: an
 * audit event tells of it, and the main thread looks after its place at once. Other threads do so when their
 * next selected function begins (3.10), or not at all.
 *
 * Threads: the interpreter's lock protects this. Places of other threads are looked at while these do not run.
 * The lists kept here are not held on to while another tool is told of an event. */
#ifndef CLP_TRACE_PLACE_H
#define CLP_TRACE_PLACE_H

#include "cpython/recorder/recorder_state.h"

/* Who shares the place: settrace.c. */
struct clp_place_owner {
    /* The trace function that is set. */
    Py_tracefunc event;
    /* Does anybody want the events of this thread? */
    bool (*wants)(const struct clp_recorder *recorder, const PyThreadState *state);
    /* Called when the place has changed. On 3.10 it switches tracing in the frame that continues now on or off,
     * as needed. */
    void (*settle)(PyThreadState *state);
};

/* Lets the place be taken, until clp_place_close was called as often. There is one owner, which is copied. */
void clp_place_open(struct clp_recorder *recorder, const struct clp_place_owner *owner);
void clp_place_close(void);

/* Sets our trace function before whatever is in the thread's place. Since 3.12 an empty place can be taken in
 * the running thread only. False when what is there cannot be shared; the recorder is then displaced. */
bool clp_place_take(PyThreadState *state);

#if !CLP_HAS_FRAME_HOOK
/* Sets our trace function before whatever is in the places of all threads. Bodies may be running there. */
void clp_place_take_all(void);
#endif

/* Puts back what is in the place besides us, in one thread or in all. Since 3.12 a place that only we have is
 * given back in the running thread only. */
void clp_place_leave(PyThreadState *state);
void clp_place_leave_all(void);

/* Is anybody else in the place, too? */
static inline bool clp_place_is_shared(const PyThreadState *state)
{
    return state->c_traceobj != NULL;
}

/* An event for the other trace function. `counted`: lines of this frame are wanted, whatever the other one
 * wants by f_trace_lines. `begins`: the frame has not run before. */
struct clp_place_event {
    PyFrameObject *frame;
    int what;
    PyObject *argument;
    bool counted, begins;
};
/* Passes the event to the trace function that has this object in the place. Returns what that function returns. */
int clp_place_pass(PyObject *object, const struct clp_place_event *event);

/* Is there a frame of which it is kept that its own trace function wants no lines? */
bool clp_place_mutes(void);
/* Forgets that the frame's own trace function wants no lines. */
void clp_place_forget(const PyFrameObject *frame);

#endif
