/* SPDX-License-Identifier: MIT */
/* A thread has one place for a trace function. Here it is shared with the program and its tools:
 *
 *   c_tracefunc   ours, which passes each event on
 *   c_traceobj    theirs, so that sys.gettrace() shows it; NULL: nobody else wants the place
 *
 * Nothing else is kept for a thread, so a tool that saves both and puts them back later gets what it
 * had. Two things take the place from us. sys.settrace: it goes by way of us, for the C function
 * within the built-in is exchanged, and whoever holds the built-in holds that. And PyEval_SetTrace in
 * a tool's C code: an audit event tells of it, and the main thread looks after its place at once; other
 * threads do so when their next selected function begins (3.10), or not at all.
 *
 * Threads: the interpreter's lock. Other threads' places are looked at while they do not run; the lists kept here
 * are not held on to while another tool is told of an event. */
#ifndef CLP_TRACE_PLACE_H
#define CLP_TRACE_PLACE_H

#include "cpython/recorder/recorder_state.h"

/* Who has the place: settrace.c. */
struct clp_place_owner {
    /* What is in the place. */
    Py_tracefunc event;
    /* Does anybody want the events of this thread? */
    bool (*wants)(const struct clp_recorder *recorder, const PyThreadState *state);
    /* Somebody has changed the place. 3.10: tracing is on in the frame that goes on now only if somebody needs it. */
    void (*settle)(PyThreadState *state);
};

/* From now on the place may be taken; as often as this, less clp_place_close, it is wanted. There is one owner,
 * borrowed for good. */
void clp_place_open(struct clp_recorder *recorder, const struct clp_place_owner *owner);
void clp_place_close(void);

/* Ours comes before whatever is in the thread's place. Since 3.12 an empty one can be taken in the running
 * thread only. False, and the recorder is displaced, when what is there must stay alone. */
bool clp_place_take(PyThreadState *state);

#if !CLP_HAS_FRAME_HOOK
/* Puts ours before whatever is in the places of all threads, which may have been running. */
void clp_place_take_all(void);
#endif

/* What is there without us is there again; since 3.12 an empty place is given back in the running thread
 * only. */
void clp_place_leave(PyThreadState *state);
void clp_place_leave_all(void);

/* Is anybody else in the place? */
static inline bool clp_place_is_shared(const PyThreadState *state)
{
    return state->c_traceobj != NULL;
}

/* Tells whoever has this object in the place. `counted`: lines of this frame are wanted, whatever that
 * one thinks of f_trace_lines; `begins`: it has not run before. Returns what that one returns. */
struct clp_place_event {
    PyFrameObject *frame;
    int what;
    PyObject *argument;
    bool counted, begins;
};
int clp_place_pass(PyObject *object, const struct clp_place_event *event);

/* Is it kept of any frame that its own trace function wants no lines? Of this one it is no more. */
bool clp_place_mutes(void);
void clp_place_forget(const PyFrameObject *frame);

#endif
