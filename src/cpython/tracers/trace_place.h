/* SPDX-License-Identifier: MIT */
/* A thread has one place for a trace function. This file shares it with the program and its tools:
 *
 *   c_tracefunc   our function, which passes each event on
 *   c_traceobj    the object of the other trace function, so that sys.gettrace() shows it;
 *                 NULL: nobody else wants the place
 *
 * Nothing else is kept for a thread, so a tool that saves both and puts them back later gets what it had. Two
 * things take the place from us. One is sys.settrace. The C function within this built-in is exchanged for
 * ours (exchange.h), so we take the place again before the call returns. The other is PyEval_SetTrace in a
 * tool's C code. An audit event tells of that call, and the main thread takes its place again at once. Other
 * threads do so when their next selected function begins (3.10), or not at all.
 *
 * Threads: the interpreter's lock protects this. A thread that has the lock also changes the places of other
 * threads. No pointer into the lists of trace_place.c is kept during a call of another trace function,
 * because that call may change the lists. */
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

/* Takes our trace function out of the place, in one thread or in all. The other trace function stays, if
 * there is one. Since 3.12 a place without another one can be emptied in the running thread only. */
void clp_place_leave(PyThreadState *state);
void clp_place_leave_all(void);

/* Is another trace function in the place, too? */
static inline bool clp_place_is_shared(const PyThreadState *state)
{
    return state->c_traceobj != NULL;
}

/* An event for the other trace function. `counted`: we want the lines of this frame, even if the other
 * function has set f_trace_lines to False. `begins`: the frame has not run before. */
struct clp_place_event {
    PyFrameObject *frame;
    int what;
    PyObject *argument;
    bool counted, begins;
};
/* Passes the event to the trace function that has this object in the place. Returns what that function returns. */
int clp_place_pass(PyObject *object, const struct clp_place_event *event);

/* Is any frame muted? A muted frame is one whose own trace function wants no lines, while we want them. */
bool clp_place_mutes(void);
/* Forgets that the frame is muted. */
void clp_place_forget(const PyFrameObject *frame);

#endif
