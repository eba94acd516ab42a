/* SPDX-License-Identifier: MIT */
/* Bodies that are in `with` blocks. To the engine, an open block is one more activation, above that of its
 * body.
 *
 *   stack:   .. | main | block "load" | read      read() is called within the block in main()
 *
 * If the body is counted, too, its own events find a block on top. Then the blocks are lifted off the stack,
 * the event is recorded for the body, and the blocks are lowered onto the stack again. So each line counts for
 * the body and for the block.
 *
 * Threads: the interpreter's lock protects the list of stays. A stay is freed when its block is left, and never
 * while `walks` is not 0. */
#ifndef CLP_STAYS_H
#define CLP_STAYS_H

#include "events.h"

/* ---- on the stack ---- */

/* Is the block of this stay on top of the thread's stack? */
static inline bool clp_stays_on_top(const struct clp_thread *thread, const struct clp_stay *stay)
{
    return thread->top->frame == stay;
}

/* The stay whose block is on top; NULL: no block is. */
struct clp_stay *clp_stays_top(const struct clp_recorder *recorder, const struct clp_thread *thread);

/* Pushes the block of the stay onto the thread's stack. */
void clp_stays_push(struct clp_stay *stay, struct clp_thread *thread);

/* Makes sure that the block of the stay is on top. Exits that no event told of may have left activations above
 * it. */
void clp_stays_put_on_top(struct clp_stay *stay, struct clp_thread *thread);

/* ---- beside the events of the body ---- */

/* Is the frame in a `with` block? */
bool clp_blocks_hold(const struct clp_recorder *recorder, const PyFrameObject *frame);

/* The slow parts of clp_blocks_lift and clp_blocks_lower. */
void clp_blocks_lift_open(struct clp_recorder *recorder, struct clp_thread *thread,
                          const PyFrameObject *frame);
void clp_blocks_lower_lifted(struct clp_recorder *recorder, struct clp_thread *thread);

/* Call this before an event of the running body: takes the body's blocks off the top of the stack. */
static inline void clp_blocks_lift(struct clp_recorder *recorder, struct clp_thread *thread)
{
    if (CLP_UNLIKELY(recorder->blocks.stays != NULL))
        clp_blocks_lift_open(recorder, thread, clp_compat_frame_here());
}

/* Call this after the event: puts the blocks back that were taken off. */
static inline void clp_blocks_lower(struct clp_recorder *recorder, struct clp_thread *thread)
{
    if (CLP_UNLIKELY(recorder->blocks.lifted))
        clp_blocks_lower_lifted(recorder, thread);
}

/* ---- the events of a body that open blocks may lie above ---- */

/* A suspended body continues. */
void clp_recorder_resume(const struct clp_selected *selected, struct clp_thread *thread,
                         const void *frame);

/* Makes sure that the body is on top (clp_engine_align). Blocks of the body stay lifted until clp_blocks_lower.
 * False: drop the event. */
bool clp_recorder_align(const struct clp_selected *selected, struct clp_thread *thread,
                        const void *frame);

#endif
