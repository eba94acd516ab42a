/* SPDX-License-Identifier: MIT */
/* The recorder of the process: how it is made, and the counters of its threads. Protected as recorder_state.h
 * says. */
#ifndef CLP_RECORDER_H
#define CLP_RECORDER_H

#include "recorder_state.h"

/* Reads what must be known of the interpreter, which runs Python code. All else of *recorder becomes zero.
 * False with an exception set. */
bool clp_recorder_learn(struct clp_recorder *recorder);

/* Sets up everything but the tracer and memory, after clp_recorder_learn. False with an exception set. */
bool clp_recorder_init(struct clp_recorder *recorder);

/* Takes the engine back to the state after clp_recorder_init: no function, no counter, no cost. The calling
 * thread, which must be the only one that has recorded, starts anew. No window may have functions. */
void clp_recorder_forget(struct clp_recorder *recorder);

/* Says whether epochs are told of calls from now on. */
void clp_recorder_watch_calls(struct clp_recorder *recorder, bool watch);

/* Adapts the recorder to the child of a fork: memory is read from this process, and threads that it does not
 * have end. What was counted stays. */
void clp_recorder_after_fork(struct clp_recorder *recorder);

/* Makes the running thread's counters. NULL: no memory. */
struct clp_thread *clp_recorder_new_thread(struct clp_recorder *recorder);

static inline struct clp_thread *clp_recorder_thread(struct clp_recorder *recorder)
{
    struct clp_thread *thread = clp_thread_here;

    return CLP_LIKELY(thread != NULL) ? thread : clp_recorder_new_thread(recorder);
}

#endif
