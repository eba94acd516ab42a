/* SPDX-License-Identifier: MIT */
/* How much of the self time of lines passes in what they call: in C code, and in Python functions that are not
 * selected (library). Tracers tell of the begin and the end of calls, operators and steps of iterators.
 *
 * What a call took is the self time that its line gains meanwhile: so selected functions that it calls have their own
 * time, and functions that are not selected count with whatever called them. A call that lies within another one of the
 * same line, by recursion, is a part of that. A call whose end nobody tells, because it raised, ends with the stay of its line.
 *
 * An operator, or a step of an iterator, has taken what has passed since it began: since the last event of the thread,
 * or since its mark. What it took before it called a selected function is left out then. */
#ifndef CLP_CALLED_H
#define CLP_CALLED_H

#include "hot.h"

/* Are calls of the line on top counted? They are not before the first line of a body. */
static inline bool clp_called_counts(const struct clp_thread *thread)
{
    const struct clp_activation *top = thread->top;

    return top->cell != &thread->outside && top->block->called != NULL;
}

static inline struct clp_called_cell *clp_called_of_top(const struct clp_thread *thread)
{
    const struct clp_activation *top = thread->top;

    return &top->block->called[clp_engine_line_index(top)];
}

/* The self time of the line on top up to now, by the clock itself. */
static inline uint64_t clp_called_self(const struct clp_thread *thread, uint64_t now)
{
    return thread->top->cell->self + clp_engine_since_last(thread, now);
}

static inline uint32_t clp_called_depth(const struct clp_thread *thread)
{
    return (uint32_t)(thread->top - thread->stack);
}

/* Puts a call on top of those that run; there is room. */
static inline void clp_called_push(struct clp_thread *thread, struct clp_callee callee,
                                   struct clp_called_cell *called, uint64_t now)
{
    struct clp_calling *calling = &thread->calling[thread->calling_count++];

    calling->callee = callee;
    calling->depth = clp_called_depth(thread);
    calling->entered = thread->top->entered;
    calling->cell = thread->top->cell;
    calling->called = called;
    calling->self = clp_called_self(thread, now);
}

/* Forgets the calls that have ended unnoticed, and those of this depth and more. */
void clp_called_drop_ended(struct clp_thread *thread, uint32_t depth);

/* As clp_called_begin, while there are other calls. */
void clp_called_begin_within(struct clp_thread *thread, struct clp_callee callee, uint64_t now);

/* The line on top calls something. */
static inline void clp_called_begin(struct clp_thread *thread, struct clp_callee callee, uint64_t now)
{
    clp_engine_add_cost(thread, thread->engine->around.begin);
    if (CLP_LIKELY(thread->calling_count == 0))
        clp_called_push(thread, callee, clp_called_of_top(thread), now);
    else
        clp_called_begin_within(thread, callee, now);
}

/* The line on top calls something whose time is not counted here. */
static inline void clp_called_skip(struct clp_thread *thread)
{
    clp_engine_add_cost(thread, thread->engine->around.begin);
    if (CLP_UNLIKELY(thread->calling_count != 0))
        clp_called_drop_ended(thread, clp_called_depth(thread));
}

/* A call of the line on top has returned. Is it one that counts, so that the clock must be read? */
static inline bool clp_called_ends(struct clp_thread *thread)
{
    clp_engine_add_cost(thread, thread->engine->around.end);
    if (CLP_LIKELY(thread->calling_count != 0) &&
        CLP_UNLIKELY(thread->calling[thread->calling_count - 1].depth > clp_called_depth(thread)))
        clp_called_drop_ended(thread, clp_called_depth(thread) + 1);
    if (thread->calling_count == 0)
        return false;
    const struct clp_calling *calling = &thread->calling[thread->calling_count - 1];
    return calling->depth == clp_called_depth(thread) && calling->entered == thread->top->entered &&
           calling->cell == thread->top->cell;
}

/* The innermost call ends. */
static inline void clp_called_end(struct clp_thread *thread, uint64_t now)
{
    const struct clp_calling *calling = &thread->calling[--thread->calling_count];
    uint64_t self = clp_called_self(thread, now);

    if (calling->called != NULL && self > calling->self)
        clp_called_add(calling->called, calling->callee,
                       (int64_t)(self - calling->self) * CLP_CORRECTION_ONE - thread->engine->around.call_inside);
    thread->mark = now - thread->stopped;
}

/* An operator begins; an operator or a step has ended, which the event of this cost tells. */
static inline void clp_called_mark(struct clp_thread *thread, uint64_t now)
{
    thread->mark = now - thread->stopped;
    clp_engine_add_cost(thread, thread->engine->around.mark);
}

static inline void clp_called_since(struct clp_thread *thread, struct clp_callee callee, int64_t cost, uint64_t now)
{
    const struct clp_around_costs *costs = &thread->engine->around;
    uint64_t at = now - thread->stopped;
    bool marked = thread->mark >= thread->last;
    uint64_t begin = marked ? thread->mark : thread->last;

    if (at > begin)
        clp_called_add(clp_called_of_top(thread), callee,
                       (int64_t)(at - begin) * CLP_CORRECTION_ONE - (marked ? costs->marked_inside : costs->line_inside));
    thread->mark = at;
    clp_engine_add_cost(thread, cost);
}

/* Lets the calls that have not ended count up to now, in all threads. */
void clp_called_look(struct clp_engine *engine, uint64_t now);

#endif
