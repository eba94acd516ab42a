/* SPDX-License-Identifier: MIT */
/* The recorder of the process: how it comes to be, and the counters of its threads. Protected as recorder_state.h
 * says. */
#ifndef CLP_RECORDER_H
#define CLP_RECORDER_H

#include "recorder_state.h"

/* What is to be known of the interpreter, which takes Python code; the rest of the recorder is zero. False with
 * an exception set. */
bool clp_recorder_learn(struct clp_recorder *recorder);

/* Then sets up everything but the tracer and memory. False with an exception set. */
bool clp_recorder_init(struct clp_recorder *recorder);

/* Takes the engine back to the state of clp_recorder_init: no function, no counter, no cost; the
 * calling thread, which must be the only one that recorded, starts anew. Windows have no functions. */
void clp_recorder_forget(struct clp_recorder *recorder);

/* Are epochs to be told of calls from now on? */
void clp_recorder_watch_calls(struct clp_recorder *recorder, bool watch);

/* This process is the child of a fork: its memory is read from now on, and threads that it does not have
 * end. What was counted stays. */
void clp_recorder_after_fork(struct clp_recorder *recorder);

/* Makes the running thread's counters; NULL when there is no memory. */
struct clp_thread *clp_recorder_new_thread(struct clp_recorder *recorder);

static inline struct clp_thread *clp_recorder_thread(struct clp_recorder *recorder)
{
    struct clp_thread *thread = clp_thread_here;

    return CLP_LIKELY(thread != NULL) ? thread : clp_recorder_new_thread(recorder);
}

#endif
