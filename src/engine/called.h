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

/* The line on top calls something, which has returned. Times are those of the clock itself. */
void clp_called_begin(struct clp_thread *thread, struct clp_callee callee, uint64_t now);
void clp_called_end(struct clp_thread *thread, uint64_t now);

/* The line on top calls something whose time is not counted here. */
void clp_called_skip(struct clp_thread *thread);

/* An operator begins; an operator or a step has ended, which the event of this cost tells. */
void clp_called_mark(struct clp_thread *thread, uint64_t now);
void clp_called_since(struct clp_thread *thread, struct clp_callee callee, int64_t cost, uint64_t now);

/* Lets the calls that have not ended count up to now, in all threads. */
void clp_called_look(struct clp_engine *engine, uint64_t now);

#endif
