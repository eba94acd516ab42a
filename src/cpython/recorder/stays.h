/* SPDX-License-Identifier: MIT */
/* Bodies that are in blocks: to the engine an open block is one more activation above that of its body.
 *
 *   stack:   .. | main | block "load" | read      read() is called within the block in main()
 *
 * Where the body is counted, too, its own events find a block on top. Then blocks are lifted off the
 * stack, the event is the body's, and they are lowered again: each line is the body's and the block's.
 *
 * Threads: stays are a list that the interpreter's lock protects. A stay is freed by whoever leaves the block,
 * and by nobody while `walks` is not 0. */
#ifndef CLP_STAYS_H
#define CLP_STAYS_H

#include "events.h"

/* A block that a body is in. */
struct clp_stay {
    struct clp_stay *next;    /* an older one */
    struct clp_recorder *recorder; /* borrowed */
    struct clp_with_place *place;  /* where it stands; borrowed, the recorder keeps it */
    const struct clp_selected *selected; /* borrowed: of that place's entry in the table of functions */
    int32_t first;            /* the line of its `with` */
    PyFrameObject *frame;     /* owned */
    bool named;               /* block("name"), not `with profile` */
    bool begun;               /* was there a line of it yet? */
    bool over;                /* its `with` runs again, to leave it */
    bool lifted;              /* off the stack for one event of the body */
    void *source;             /* what its events come from; block_source.h */
};

/* ---- on the stack ---- */

static inline bool clp_stays_on_top(const struct clp_thread *thread, const struct clp_stay *stay)
{
    return thread->top->frame == stay;
}

/* The one that is on top; NULL: none is. */
struct clp_stay *clp_stays_top(const struct clp_recorder *recorder, const struct clp_thread *thread);

/* The stay goes on, above what is on the thread's stack. */
void clp_stays_push(struct clp_stay *stay, struct clp_thread *thread);

/* Exits that nobody told of may have left something above it. */
void clp_stays_put_on_top(struct clp_stay *stay, struct clp_thread *thread);

/* ---- beside the events of the body itself ---- */

/* Is the frame in a block? */
bool clp_blocks_hold(const struct clp_recorder *recorder, const PyFrameObject *frame);

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

/* ---- the events of a body that open blocks may lie above ---- */

void clp_recorder_resume(const struct clp_selected *selected, struct clp_thread *thread,
                         const void *frame);

/* clp_engine_align, now. */
bool clp_recorder_align(const struct clp_selected *selected, struct clp_thread *thread,
                        const void *frame);

#endif
