/* SPDX-License-Identifier: MIT */
/* Before 3.12 a thread's trace function tells of `with` blocks. Keeps in which threads it is wanted, and turns
 * its events into events of blocks. Protected as recorder_state.h says. */
#ifndef CLP_BLOCK_TRACE_H
#define CLP_BLOCK_TRACE_H

#include "cpython/recorder/recorder_state.h"

#if CLP_HAS_MONITORING

/* sys.monitoring tells of blocks, so no trace function is wanted. */
static inline bool clp_blocks_trace(const struct clp_recorder *recorder, const PyThreadState *state)
{
    (void)recorder, (void)state;
    return false;
}

static inline void clp_blocks_note(struct clp_recorder *recorder, PyFrameObject *frame, int what,
                                   const PyObject *argument)
{
    (void)recorder, (void)frame, (void)what, (void)argument;
}

#else

/* A thread that is traced for blocks. */
struct clp_traced {
    struct clp_traced *next;
    const PyThreadState *state;
    int open; /* how many blocks are open in it */
};

/* Notes that one more block is open in the thread of this state. NULL with an exception set. */
struct clp_traced *clp_blocks_begin_trace(struct clp_recorder *recorder, const PyThreadState *state);

/* Are the trace events of this thread wanted for blocks? */
bool clp_blocks_trace(const struct clp_recorder *recorder, const PyThreadState *state);

/* Takes a trace event of the frame: `what` and `argument` are those of a trace function. */
void clp_blocks_note(struct clp_recorder *recorder, PyFrameObject *frame, int what,
                     const PyObject *argument);

#endif
#endif
