/* SPDX-License-Identifier: MIT */
/* Python's allocators are asked through us: the domains "mem" and "object", and "raw" where the
 * interpreter has a single thread when the hooks are put in. The owner of a block is the selected
 * line on top of its thread, so a line's blocks are its own and those of all it calls that is not
 * selected.
 *
 * Counting adds bytes and blocks to the counters of that line. With a table (heap/heap.h) chosen
 * blocks are entered there, and each free and resize is told to it.
 *
 * The hooks are put in once and stay: a block of today is freed through them tomorrow. What was
 * there before them is always called. They are process-wide as the allocators are, so what they
 * know is, too. Nothing they do allocates by them or takes the interpreter's lock.
 *
 * Threads. Hooks of "mem" and "object" have the interpreter's lock. Those of "raw" may be called without it, and so
 * may those of native.h. What they read is then written by others as follows, and nothing else:
 *
 *   thread->top             by another thread, which has the lock and unwinds the stack: clp_engine_top (engine/hot.h)
 *   what is on top          by nobody: its cell, block and line are set by events of the thread itself. A thread's
 *                           activations and blocks stay in place until the thread has ended
 *   thread->allocating      `left` and `random` by whoever sets a table, atomically. Where the thread writes at the
 *                           same time, one of the two is lost; so it asks again after some bytes (hooks.c).
 *                           `busy` by nobody
 *   the table, its epochs   by whoever sets them, atomically, the epochs first. A hook goes on with the table that it
 *                           has found, which may have been restarted meanwhile, but is never freed (heap/heap.h).
 *                           Of the epochs see heap/epochs.h
 *
 * What such a hook writes is the line's counters, `allocated` and `blocks`, besides the table, which has a lock of its
 * own. The thread alone writes them, as plain words, which processors read and write as a whole. A snapshot that is
 * taken meanwhile may be without the block at hand.
 *
 * What goes on within an allocator, and what the profiler allocates for itself, is not counted: the
 * thread is marked busy. */
#ifndef CLP_HOOKS_H
#define CLP_HOOKS_H

#include "heap/epochs.h"
#include "thread_here.h"

/* Puts the hooks in if they are not. False when they cannot be: another tool hides them from us. */
bool clp_hooks_install(void);

/* From now on blocks go into the table, and epochs that go by time end; NULL: blocks do not any more. Threads
 * of the engine begin to choose. All borrowed for as long as the table is set, and `epochs` for good. False as
 * above. */
bool clp_hooks_set_heap(struct clp_heap *heap, struct clp_epochs *epochs, struct clp_engine *engine);

/* The program says that an epoch is over: for the table, if there is one and it goes by that. */
void clp_hooks_checkpoint(void);

/* Do allocations still reach the hooks? Another tool that was there before them may have put things
 * back as they were, which takes them out. */
bool clp_hooks_alive(void);

/* Work of the profiler's own on the calling thread, between the two: not counted. They may be
 * nested. */
static inline uint32_t clp_hooks_pause(void)
{
    struct clp_thread *thread = clp_thread_here;
    uint32_t busy = 0;

    if (thread != NULL) {
        busy = thread->allocating.busy;
        thread->allocating.busy = 1;
    }
    return busy;
}

static inline void clp_hooks_resume(uint32_t busy)
{
    if (clp_thread_here != NULL)
        clp_thread_here->allocating.busy = busy;
}

#endif
