/* SPDX-License-Identifier: MIT */
/* Blocks: `with profile.block("name"):` counts the lines of a part of a body, while it runs, as a
 * function of their own.
 *
 * A frame that runs cannot get probes. So while a block is open its frame's line events come from
 * sys.monitoring (3.12 and newer) or the thread's trace function (before), whichever tracer counts the
 * functions. To the engine an open block is one more activation above that of its body; its key is the
 * address of its stay.
 *
 *   stack:   .. | main | block "load" | read      read() is called within the block in main()
 *
 * Where the body is counted, too, its own events find a block on top. Then blocks are lifted off the
 * stack, the event is the body's, and they are lowered again: each line is the body's and the
 * block's.
 *
 * Threads: stays and places are lists that the interpreter's lock protects. A stay is freed by whoever
 * leaves the block, and by nobody while `walks` is not 0; a place is freed only where none is open. */
#ifndef CLP_BLOCKS_H
#define CLP_BLOCKS_H

#include "window.h"

/* A block that a body is in. */
struct clp_stay {
    struct clp_stay *next;    /* an older one */
    struct clp_recorder *recorder; /* borrowed */
    struct clp_place *place;  /* where it stands; borrowed, the recorder keeps it */
    PyFrameObject *frame;     /* owned */
    bool named;               /* block("name"), not `with profile` */
    bool begun;               /* was there a line of it yet? */
    bool over;                /* its `with` runs again, to leave it */
    bool lifted;              /* off the stack for one event of the body */
    void *source;             /* what its events come from; blocks_settrace.c */
};

/* A block of this name, which the window counts, is about to begin at the frame's line. NULL with an
 * exception set. */
struct clp_stay *clp_blocks_open(struct clp_window *window, PyFrameObject *frame, PyObject *name);

/* The block begins: from here on its time counts. */
void clp_blocks_begin(struct clp_stay *stay);

/* The block is left, and freed. */
void clp_blocks_close(struct clp_stay *stay);

/* The innermost `with profile` of this frame, or NULL. */
struct clp_stay *clp_blocks_find(const struct clp_recorder *recorder, const PyFrameObject *frame);

/* Code in which no block is open now is watched no more. */
void clp_blocks_rest(struct clp_recorder *recorder);

/* No events come any more. */
void clp_blocks_stop(struct clp_recorder *recorder);

/* ---- for where events come from ---- */

bool clp_blocks_hold(const struct clp_recorder *recorder, const PyFrameObject *frame);
void clp_blocks_line(struct clp_recorder *recorder, PyFrameObject *frame, int line);
void clp_blocks_suspend(struct clp_recorder *recorder, const PyFrameObject *frame);
void clp_blocks_resume(struct clp_recorder *recorder, const PyFrameObject *frame);
void clp_blocks_leave(struct clp_recorder *recorder, const PyFrameObject *frame);

/* Would this frame, which returns now, only be suspended? */
bool clp_blocks_yield_at(const struct clp_recorder *recorder, PyFrameObject *frame);

/* The stay's events come from now on, and no more; code may be watched a little longer. False with an
 * exception set; the others never fail. */
bool clp_blocks_watch(struct clp_stay *stay, PyObject *code);
void clp_blocks_unwatch(struct clp_stay *stay);
void clp_blocks_unwatch_code(struct clp_recorder *recorder, PyObject *code);
void clp_blocks_unwatch_all(struct clp_recorder *recorder);

/* Before 3.12, of the thread's trace function: are its events wanted for blocks? One of them. */
#if CLP_HAS_MONITORING
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
bool clp_blocks_trace(const struct clp_recorder *recorder, const PyThreadState *state);
void clp_blocks_note(struct clp_recorder *recorder, PyFrameObject *frame, int what,
                     const PyObject *argument);
#endif

/* ---- for the events of the body itself ---- */

void clp_blocks_lift_open(struct clp_recorder *recorder, struct clp_thread *thread,
                          const PyFrameObject *frame);
void clp_blocks_lower_lifted(struct clp_recorder *recorder, struct clp_thread *thread);

/* Before an event of the body that runs: what lies above it on the stack is taken off. */
static inline void clp_blocks_lift(struct clp_recorder *recorder, struct clp_thread *thread)
{
    if (CLP_UNLIKELY(recorder->blocks.stays != NULL))
        clp_blocks_lift_open(recorder, thread, clp_compat_frame_here());
}

/* After it. */
static inline void clp_blocks_lower(struct clp_recorder *recorder, struct clp_thread *thread)
{
    if (CLP_UNLIKELY(recorder->blocks.lifted))
        clp_blocks_lower_lifted(recorder, thread);
}

#endif
