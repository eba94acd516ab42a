/* SPDX-License-Identifier: MIT */
/* Garbage collections, by the lines during which they ran. A collection belongs to the line on top of the thread's
 * stack. What it took is the self time that the line gains while it runs: selected functions that it runs (finalizers)
 * have their own time, and time in which the thread's clock stands still is nobody's. Of its waiting a collection has
 * what the line gains of that; whoever wants it known reads the processor time before both calls (waiting.h). */
#ifndef CLP_GARBAGE_H
#define CLP_GARBAGE_H

#include "hot.h"

/* A collection begins at `now`, in this thread; NULL: in one without counters. */
void clp_garbage_begin(struct clp_engine *engine, struct clp_thread *thread, uint64_t now);

/* The collection ends. Without a beginning nothing happens. */
void clp_garbage_end(struct clp_engine *engine, uint64_t now);

/* The collections of the line on top. */
static inline struct clp_gc_cell *clp_garbage_of_top(const struct clp_thread *thread)
{
    const struct clp_activation *top = thread->top;

    return &clp_block_gc(top->block)[clp_engine_line_index(top)];
}

/* Gives to the line on top, the first of its body, the collections since the body was entered. */
static inline void clp_garbage_take_early(struct clp_thread *thread)
{
    if (CLP_LIKELY(thread->gc_early.runs == 0))
        return;
    clp_gc_add(clp_garbage_of_top(thread), thread->gc_early);
    thread->gc_early = (struct clp_gc_cell){0};
}

/* Counts these collections as outside all lines, because the body was left before its first line. */
static inline void clp_garbage_leave_early(struct clp_thread *thread)
{
    clp_gc_add(&thread->gc_outside, thread->gc_early);
    thread->gc_early = (struct clp_gc_cell){0};
}

#endif
