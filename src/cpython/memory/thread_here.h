/* SPDX-License-Identifier: MIT */
/* The calling thread's counters, and what runs in a thread: which selected line is on top of its stack. */
#ifndef CLP_THREAD_HERE_H
#define CLP_THREAD_HERE_H

#include "engine/engine.h"
#include "heap/heap.h"

/* The counters of the running thread; NULL before its first event. Every event and every hook on an allocator
 * reads this. The initial-exec model makes the read quick. Storage of this model is scarce, so little else
 * has it (hooks.c). */
extern __thread struct clp_thread *clp_thread_here __attribute__((tls_model("initial-exec")));

/* A number for the present execution of the line. The thread is part of it, because two threads may have the
 * same number of hits. */
static inline uint32_t clp_thread_execution(const struct clp_thread *thread, const struct clp_cell *cell)
{
    return (uint32_t)cell->hits + (uint32_t)((uintptr_t)thread >> 6) * 2654435761u;
}

/* The line of this thread that runs: it owns what the thread allocates. CLP_HEAP_NOBODY when the thread is
 * NULL or no selected line runs. */
static inline struct clp_heap_place clp_thread_place(const struct clp_thread *thread)
{
    const struct clp_activation *top = thread != NULL ? clp_engine_top(thread) : NULL;

    if (top == NULL || top->cell == &thread->outside)
        return (struct clp_heap_place){.function = CLP_HEAP_NOBODY};
    return (struct clp_heap_place){
        .function = top->block->function,
        .line = (uint32_t)clp_engine_line_index(top),
        .line_count = top->block->line_count,
        .execution = clp_thread_execution(thread, top->cell),
    };
}

#endif
