/* SPDX-License-Identifier: MIT */
#include "called.h"

/* Does the body still run that makes the call? */
static bool runs(const struct clp_thread *thread, const struct clp_calling *calling)
{
    const struct clp_activation *at = &thread->stack[calling->depth];

    return calling->depth <= clp_called_depth(thread) && at->entered == calling->entered && at->cell == calling->cell;
}

/* Gives to the line what it has gained since the call began or was looked at, up to its last event, or up to now if
 * it is on top. */
static void settle(struct clp_calling *calling, uint64_t self)
{
    if (self > calling->self && calling->called != NULL)
        clp_called_add(calling->called, calling->callee, (int64_t)(self - calling->self) * CLP_CORRECTION_ONE);
    if (self > calling->self)
        calling->self = self;
}

void clp_called_drop_ended(struct clp_thread *thread, uint32_t depth)
{
    while (thread->calling_count != 0) {
        struct clp_calling *calling = &thread->calling[thread->calling_count - 1];
        if (calling->depth < depth && runs(thread, calling))
            return;
        settle(calling, calling->cell->self);
        thread->calling_count--;
    }
}

/* Is the line on top in a call already, of an activation below? */
static bool is_within(const struct clp_thread *thread)
{
    for (uint32_t i = 0; i < thread->calling_count; i++)
        if (thread->calling[i].cell == thread->top->cell)
            return true;
    return false;
}

void clp_called_begin_within(struct clp_thread *thread, struct clp_callee callee, uint64_t now)
{
    clp_called_drop_ended(thread, clp_called_depth(thread));
    if (thread->calling_count < CLP_CALLS_OPEN)
        clp_called_push(thread, callee, is_within(thread) ? NULL : clp_called_of_top(thread), now);
}

void clp_called_look(struct clp_engine *engine, uint64_t now)
{
    for (struct clp_thread *thread = engine->threads; thread != NULL; thread = thread->next) {
        for (uint32_t i = 0; i < thread->calling_count; i++) {
            struct clp_calling *calling = &thread->calling[i];
            bool on_top = runs(thread, calling) && calling->depth == clp_called_depth(thread);
            settle(calling, on_top ? clp_called_self(thread, now) : calling->cell->self);
        }
    }
}
