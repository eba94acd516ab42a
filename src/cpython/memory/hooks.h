/* SPDX-License-Identifier: MIT */
/* Hooks on Python's allocators: on the domains "mem" and "object", and on "raw" where the interpreter has a
 * single thread when the hooks are put in. The owner of a block is the selected line on top of its thread. So a
 * line owns the blocks that it allocates, and those of the code that it calls and that is not selected.
 *
 * Counting adds bytes and blocks to the counters of that line. With a table (heap/heap.h) chosen blocks are
 * entered there, and each free and resize is told to it.
 *
 * The hooks are put in once and stay, because a block that was allocated through them may be freed through them
 * at any later time. They always call the allocator that was there before. They are process-wide, as the
 * allocators are, and so is their state. A hook never allocates through the hooks, and never takes the
 * interpreter's lock.
 *
 * Threads. Hooks of "mem" and "object" have the interpreter's lock. Those of "raw" may be called without it, and so
 * may those of native.h. Of what they read without it, other threads write only this:
 *
 *   thread->top             by another thread, which has the lock and unwinds the stack: clp_engine_top (engine/hot.h)
 *   what is on top          by no other thread: its cell, block and line are set by events of the thread itself. A
 *                           thread's activations and blocks stay in place until the thread has ended
 *   thread->allocating      `left` and `random` by a thread that sets a table, atomically. If both threads write at
 *                           the same time, one value is lost; so the thread asks again after some bytes (hooks.c).
 *                           `busy` by no other thread
 *   the table, its epochs   by a thread that sets them, atomically, the epochs first. A hook goes on with the table
 *                           that it has found. That may have been restarted meanwhile, but is never freed
 *                           (heap/heap.h). For the epochs see heap/epochs.h
 *
 * Such a hook writes to the table, which has its own lock, and to the line's counters `allocated` and `blocks`.
 * Only the thread itself writes these. They are plain words, which processors read and write as a whole. A
 * snapshot that is taken meanwhile may lack the latest block.
 *
 * What happens within an allocator, and what the profiler allocates for itself, is not counted: the thread is
 * marked busy. */
#ifndef CLP_HOOKS_H
#define CLP_HOOKS_H

#include "heap/epochs.h"
#include "thread_here.h"

/* Puts the hooks in if they are not in yet. False: they are not reached, because another tool has replaced
 * them. */
bool clp_hooks_install(void);

/* Are the hooks on "raw" in, too? */
bool clp_hooks_have_raw(void);

/* From now on chosen blocks are entered in the table, and epochs that go by time end; NULL: no table any
 * more. The countdowns of the engine's threads start again. All are borrowed while the table is set, `epochs`
 * for good. False as clp_hooks_install. */
bool clp_hooks_set_heap(struct clp_heap *heap, struct clp_epochs *epochs, struct clp_engine *engine);

/* Sets what finds the line that runs in the calling thread, where no event has told: it sets the place and returns true, or
 * leaves it alone. A place that events have told is given to it. It is called for blocks that are chosen, with the
 * interpreter's lock, within an allocator. NULL: nothing does. */
void clp_hooks_set_finder(bool (*find)(struct clp_heap_place *place));

/* The program says that an epoch is over. Does nothing without a table whose epochs end at checkpoints. */
void clp_hooks_checkpoint(void);

/* Do allocations still reach the hooks? A tool that was there before them may have restored the allocators
 * that it had found, which removes the hooks. */
bool clp_hooks_alive(void);

/* Between the two, what the calling thread allocates is the profiler's own and not counted. Calls may be
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
