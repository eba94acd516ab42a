/* SPDX-License-Identifier: MIT */
/* Records the events of bodies, each with its moment. `with` blocks that a body has entered lie above it on the
 * stack; stays.h has the events for which that may matter. Protected as recorder_state.h says. */
#ifndef CLP_EVENTS_H
#define CLP_EVENTS_H

#include "moments.h"
#include "selected.h"

/* A line begins in the body on top. */
static inline void clp_recorder_line(struct clp_recorder *recorder,
                                     struct clp_thread *thread, int32_t line)
{
    struct clp_moment moment = clp_recorder_begin(recorder, thread);

    clp_engine_line(thread, line, moment.now);
    clp_recorder_end(thread, moment);
}

/* Records a line that an event of the interpreter has told of. Such an event keeps the first instruction of the
 * line from being adapted. It has the interpreter look for another line where ways within the line meet again. So the
 * line is charged for these, too. */
static inline void clp_recorder_told_line(struct clp_recorder *recorder, struct clp_thread *thread,
                                          int32_t line)
{
    clp_recorder_line(recorder, thread, line);
    const struct clp_activation *top = thread->top;
    if (top->cell == &thread->outside)
        return;
    const uint8_t *instructions = recorder->engine.functions.items[top->block->function].instructions;
    if (instructions == NULL)
        return;
    uint8_t about = instructions[clp_engine_line_index(top)];
    if ((about & CLP_FUNCTION_ADAPTS) != 0)
        clp_engine_add_cost(thread, recorder->engine.costs.unadapted);
    if ((about & CLP_FUNCTION_MERGES) != 0)
        clp_engine_add_cost(thread, recorder->engine.costs.merge);
}

/* Does what clp_recorder_enter does, and the first line begins in the same event. */
void clp_recorder_enter_line(const struct clp_selected *selected, struct clp_thread *thread,
                             const void *frame, int32_t line);

/* A body of selected code begins. `frame` may be NULL as in clp_engine_enter. */
void clp_recorder_enter(const struct clp_selected *selected, struct clp_thread *thread,
                        const void *frame);
/* The line begins and the body on top is left, in one event; the body on top is left; the body on top is
 * suspended. */
void clp_recorder_last_line(struct clp_thread *thread, int32_t line);
void clp_recorder_leave(struct clp_thread *thread);

/* Tells the epochs that the body on top is about to return. clp_recorder_leave and clp_recorder_last_line do so
 * themselves. */
void clp_recorder_note_return(struct clp_thread *thread);
void clp_recorder_suspend(struct clp_thread *thread);

/* The thread continues with the stack of `to`. The stack that ran until now belongs to `from`. */
void clp_recorder_switch_stack(struct clp_recorder *recorder, struct clp_thread *thread,
                               const void *from, const void *to);

/* Notes that the activation, which may be NULL, runs this code. */
static inline void clp_recorder_note_code(struct clp_activation *activation,
                                          const struct clp_selected *selected)
{
    if (CLP_LIKELY(activation != NULL))
        activation->code = selected->identity;
}

#endif
