/* SPDX-License-Identifier: MIT */
/* For the bench: a build whose usual events count hits and keep the stack of bodies, and nothing else. It shows the
 * least that an exact profiler of lines can cost with these probes. Rare events, such as those of generators, are the
 * real ones. The compiler includes this before each file. */
#ifndef BENCH_HITS_ALONE_H
#define BENCH_HITS_ALONE_H

#include "no_clock.h"
#include "engine/hot.h"

static inline bool bench_line(struct clp_thread *thread, size_t place)
{
    struct clp_activation *top = thread->top;
    struct clp_cell *cell = clp_block_cell(top->block, place);

    cell->hits++;
    top->cell = cell;
    return true;
}

static inline bool bench_enter(struct clp_thread *thread, struct clp_block *block, uint64_t code,
                               size_t place)
{
    struct clp_activation *top = thread->top;
    struct clp_cell *cell = clp_block_cell(block, place);

    if (CLP_UNLIKELY(top == thread->last_activation))
        return false;
    top->cell->open++;
    thread->top = ++top;
    block->running++;
    *top = (struct clp_activation){.block = block, .cell = cell, .code = code, .call = top[-1].call};
    cell->hits++;
    return true;
}

static inline bool bench_leave(struct clp_thread *thread)
{
    struct clp_activation *left = thread->top;

    if (CLP_UNLIKELY(left->suspended != NULL || left->cell == &thread->outside))
        return false;
    thread->top = left - 1;
    left->block->running--;
    thread->top->cell->open--;
    return true;
}

#define clp_engine_line_plain(thread, place, at) ((void)(at), bench_line(thread, place))
#define clp_engine_enter_plain(thread, block, code, place, at) \
    ((void)(at), bench_enter(thread, block, code, place))
#define clp_engine_leave_plain(thread, at) ((void)(at), bench_leave(thread))
#define clp_engine_last_line_plain(thread, place, at) \
    ((void)(at), bench_line(thread, place) && bench_leave(thread))

#endif
