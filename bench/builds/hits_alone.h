/* SPDX-License-Identifier: MIT */
/* For the bench: a build whose usual events count hits and keep the stack of bodies, and nothing else. It shows the
 * least that an exact profiler of lines can cost with these probes. Rare events are the real ones. The compiler includes
 * this before each file. */
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

static inline struct clp_activation *bench_push(struct clp_thread *thread, struct clp_block *block, struct clp_cell *cell)
{
    struct clp_activation *top = thread->top;

    if (CLP_UNLIKELY(top == thread->last_activation))
        return NULL;
    top->cell->open++;
    thread->top = ++top;
    block->running++;
    *top = (struct clp_activation){.block = block, .cell = cell, .call = top[-1].call};
    return top;
}

static inline void bench_pop(struct clp_thread *thread)
{
    struct clp_activation *left = thread->top;

    thread->top = left - 1;
    left->block->running--;
    thread->top->cell->open--;
}

static inline bool bench_enter(struct clp_thread *thread, struct clp_block *block, uint64_t code,
                               size_t place)
{
    struct clp_cell *cell = clp_block_cell(block, place);
    struct clp_activation *top = bench_push(thread, block, cell);

    if (CLP_UNLIKELY(top == NULL))
        return false;
    top->code = code;
    cell->hits++;
    return true;
}

static inline bool bench_leave(struct clp_thread *thread)
{
    const struct clp_activation *left = thread->top;

    if (CLP_UNLIKELY(left->suspended != NULL || left->cell == &thread->outside))
        return false;
    bench_pop(thread);
    return true;
}

static inline bool bench_suspend(struct clp_thread *thread)
{
    const struct clp_activation *left = thread->top;

    if (CLP_UNLIKELY(left->suspended == NULL || left->cell == &thread->outside))
        return false;
    left->suspended->line_place = clp_block_place_of(left->block, left->cell);
    bench_pop(thread);
    return true;
}

static inline struct clp_activation *bench_resume(struct clp_thread *thread, struct clp_block *block, uint64_t code,
                                                 const void *frame)
{
    struct clp_suspended *record = clp_engine_latest_suspended(block, frame);

    if (CLP_UNLIKELY(record == NULL || record->line_place == 0))
        return NULL;
    struct clp_activation *top = bench_push(thread, block, clp_block_cell(block, record->line_place));
    if (CLP_UNLIKELY(top == NULL))
        return NULL;
    top->frame = frame;
    top->code = code;
    top->suspended = record;
    return top;
}

#define clp_engine_line_plain(thread, place, at) ((void)(at), bench_line(thread, place))
#define clp_engine_enter_plain(thread, block, code, place, at) \
    ((void)(at), bench_enter(thread, block, code, place))
#define clp_engine_leave_plain(thread, at) ((void)(at), bench_leave(thread))
#define clp_engine_last_line_plain(thread, place, at) \
    ((void)(at), bench_line(thread, place) && bench_leave(thread))
#define clp_engine_suspend_plain(thread, now) ((void)(now), bench_suspend(thread))
#define clp_engine_resume_plain(thread, block, code, frame, now) ((void)(now), bench_resume(thread, block, code, frame))

#endif
