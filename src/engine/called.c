/* SPDX-License-Identifier: MIT */
#include "called.h"

static struct clp_called_cell *cell_of_top(const struct clp_thread *thread)
{
    const struct clp_activation *top = thread->top;

    return &top->block->called[top->cell - top->block->cells];
}

/* The self time of the line on top up to now. */
static uint64_t self_until(const struct clp_thread *thread, uint64_t now)
{
    return thread->top->cell->self + (now - thread->stopped - thread->last);
}

static uint32_t depth_of(const struct clp_thread *thread)
{
    return (uint32_t)(thread->top - thread->stack);
}

/* Adds time, less what the events themselves take of it. */
static void add(struct clp_called_cell *cell, struct clp_callee callee, uint64_t ticks, int64_t cost)
{
    clp_called_add(cell, callee, (int64_t)ticks * CLP_CORRECTION_ONE - cost);
}

/* ---- calls ---- */

/* Does the body still run that makes the call? */
static bool runs(const struct clp_thread *thread, const struct clp_calling *calling)
{
    const struct clp_activation *at = &thread->stack[calling->depth];

    return calling->depth <= depth_of(thread) && at->entered == calling->entered && at->cell == calling->cell;
}

/* Gives to the line what it has gained since the call began or was looked at, up to its last event, or up to now if
 * it is on top. */
static void settle(struct clp_calling *calling, uint64_t self)
{
    if (self > calling->self && calling->called != NULL)
        add(calling->called, calling->callee, self - calling->self, 0);
    if (self > calling->self)
        calling->self = self;
}

/* Forgets the calls that have ended unnoticed. */
static void drop_ended(struct clp_thread *thread)
{
    while (thread->calling_count != 0) {
        struct clp_calling *calling = &thread->calling[thread->calling_count - 1];
        if (calling->depth < depth_of(thread) && runs(thread, calling))
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

void clp_called_begin(struct clp_thread *thread, struct clp_callee callee, uint64_t now)
{
    drop_ended(thread);
    clp_engine_add_cost(thread, thread->engine->around.begin);
    if (thread->calling_count == CLP_CALLS_OPEN)
        return;
    thread->calling[thread->calling_count] = (struct clp_calling){
        .callee = callee,
        .depth = depth_of(thread),
        .entered = thread->top->entered,
        .cell = thread->top->cell,
        .called = is_within(thread) ? NULL : cell_of_top(thread),
        .self = self_until(thread, now),
    };
    thread->calling_count++;
}

void clp_called_skip(struct clp_thread *thread)
{
    drop_ended(thread);
    clp_engine_add_cost(thread, thread->engine->around.begin);
}

void clp_called_end(struct clp_thread *thread, uint64_t now)
{
    const struct clp_around_costs *costs = &thread->engine->around;

    thread->mark = now - thread->stopped;
    clp_engine_add_cost(thread, costs->end);
    while (thread->calling_count != 0 && thread->calling[thread->calling_count - 1].depth > depth_of(thread)) {
        struct clp_calling *ended = &thread->calling[--thread->calling_count];
        settle(ended, ended->cell->self);
    }
    if (thread->calling_count == 0)
        return;
    struct clp_calling *calling = &thread->calling[thread->calling_count - 1];
    if (calling->depth != depth_of(thread) || !runs(thread, calling))
        return;
    thread->calling_count--;
    uint64_t self = self_until(thread, now);
    if (calling->called != NULL && self > calling->self)
        add(calling->called, calling->callee, self - calling->self, costs->call_inside);
}

void clp_called_mark(struct clp_thread *thread, uint64_t now)
{
    thread->mark = now - thread->stopped;
    clp_engine_add_cost(thread, thread->engine->around.mark);
}

void clp_called_since(struct clp_thread *thread, struct clp_callee callee, int64_t cost, uint64_t now)
{
    const struct clp_around_costs *costs = &thread->engine->around;
    uint64_t at = now - thread->stopped;
    bool marked = thread->mark >= thread->last;
    uint64_t begin = marked ? thread->mark : thread->last;

    if (at > begin)
        add(cell_of_top(thread), callee, at - begin, marked ? costs->marked_inside : costs->line_inside);
    thread->mark = at;
    clp_engine_add_cost(thread, cost);
}

void clp_called_look(struct clp_engine *engine, uint64_t now)
{
    for (struct clp_thread *thread = engine->threads; thread != NULL; thread = thread->next) {
        for (uint32_t i = 0; i < thread->calling_count; i++) {
            struct clp_calling *calling = &thread->calling[i];
            bool on_top = runs(thread, calling) && calling->depth == depth_of(thread);
            settle(calling, on_top ? self_until(thread, now) : calling->cell->self);
        }
    }
}
