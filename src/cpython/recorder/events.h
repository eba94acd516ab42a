/* SPDX-License-Identifier: MIT */
/* The events of bodies, each with its moment. Blocks that a body has entered lie above it: stays.h has the events
 * in which that may matter. Protected as recorder_state.h says. */
#ifndef CLP_EVENTS_H
#define CLP_EVENTS_H

#include "moments.h"
#include "selected.h"

static inline void clp_recorder_line(struct clp_recorder *recorder,
                                     struct clp_thread *thread, int32_t line)
{
    struct clp_moment moment = clp_recorder_begin(recorder, thread);

    clp_engine_line(thread, line, moment.now);
    clp_recorder_end(thread, moment);
}

/* A line begins by an event of the interpreter's own, which keeps the first instruction there from being
 * adapted. */
static inline void clp_recorder_told_line(struct clp_recorder *recorder, struct clp_thread *thread,
                                          int32_t line)
{
    clp_recorder_line(recorder, thread, line);
    const struct clp_activation *top = thread->top;
    if (top->cell == &thread->outside)
        return;
    const uint8_t *instructions = recorder->engine.functions.items[top->block->function].instructions;
    if (instructions != NULL && (instructions[top->cell - top->block->cells] & CLP_FUNCTION_ADAPTS) != 0)
        clp_engine_add_cost(thread, recorder->engine.costs.unadapted);
}

/* clp_recorder_enter, and the first line begins at once. */
void clp_recorder_enter_line(const struct clp_selected *selected, struct clp_thread *thread,
                             const void *frame, int32_t line);

void clp_recorder_enter(const struct clp_selected *selected, struct clp_thread *thread,
                        const void *frame);
void clp_recorder_last_line(struct clp_thread *thread, int32_t line);
void clp_recorder_leave(struct clp_thread *thread);
void clp_recorder_suspend(struct clp_thread *thread);

/* The thread goes on with the stack of `to`; the stack that ran until now was that of `from`. */
void clp_recorder_switch_stack(struct clp_recorder *recorder, struct clp_thread *thread,
                               const void *from, const void *to);

/* The activation, or NULL, is one of this code. */
static inline void clp_recorder_note_code(struct clp_activation *activation,
                                          const struct clp_selected *selected)
{
    if (CLP_LIKELY(activation != NULL))
        activation->code = selected->identity;
}

#endif
