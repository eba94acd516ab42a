/* SPDX-License-Identifier: MIT */
#include "events.h"
#include "callers.h"
#include "engine/stacks.h"
#include "leak_looks.h"
#include "names.h"
#include "own_work.h"

/* Enters a function for the first time in this thread, which makes its counters. The page faults and the time
 * of that are left out of what the thread used; clp_recorder_end takes the time off. */
static struct clp_activation *enter_first(const struct clp_selected *selected,
                                          struct clp_thread *thread, const void *frame,
                                          struct clp_moment *moment)
{
    struct clp_own_work work = clp_own_work_begin(selected->recorder);
    struct clp_thread_use before, after;

    clp_thread_get_use(&before);
    if (selected->recorder->names_threads && thread->group == 0)
        clp_names_give(selected->recorder, thread);
    struct clp_activation *activation =
        clp_engine_enter(thread, selected->function, frame, moment->now);
    clp_thread_get_use(&after);
    thread->use.faults += after.faults - before.faults;
    thread->use.nanos += after.nanos - before.nanos;
    moment->still += clp_own_work_take(selected->recorder, work);
    return activation;
}

/* Enters the body. Returns its activation, or NULL. */
static struct clp_activation *enter(const struct clp_selected *selected,
                                    struct clp_thread *thread, const void *frame,
                                    struct clp_moment *moment)
{
    bool first = !clp_engine_has_block(thread, selected->function);

    if (CLP_UNLIKELY(selected->recorder->watches_calls))
        clp_epochs_note_call(&selected->recorder->epochs, &selected->recorder->engine.functions,
                             selected->function, frame != NULL ? frame : thread->top + 1);
    struct clp_activation *activation =
        first ? enter_first(selected, thread, frame, moment)
              : clp_engine_enter(thread, selected->function, frame, moment->now);

    clp_recorder_note_code(activation, selected);
    return activation;
}

void clp_recorder_note_return(struct clp_thread *thread)
{
    struct clp_recorder *recorder = clp_recorder_of(thread);
    const void *body = thread->top->frame != NULL ? thread->top->frame : (const void *)thread->top;

    if (recorder->watches_calls && clp_epochs_note_return(&recorder->epochs, body))
        clp_leak_looks_look(recorder, true);
}

/* Does what is due after an event that has entered a body. */
static void after_entry(struct clp_recorder *recorder, struct clp_thread *thread)
{
    if (CLP_UNLIKELY(recorder->epochs.due))
        clp_leak_looks_look(recorder, false);
    clp_callers_note(recorder, thread);
}

void clp_recorder_enter(const struct clp_selected *selected, struct clp_thread *thread,
                        const void *frame)
{
    struct clp_moment moment = clp_recorder_begin(selected->recorder, thread);

    (void)enter(selected, thread, frame, &moment);
    clp_recorder_end(thread, moment);
    after_entry(selected->recorder, thread);
}

void clp_recorder_enter_line(const struct clp_selected *selected, struct clp_thread *thread,
                             const void *frame, int32_t line)
{
    struct clp_moment moment = clp_recorder_begin(selected->recorder, thread);

    if (enter(selected, thread, frame, &moment) != NULL)
        clp_engine_line(thread, line, moment.now);
    clp_recorder_end(thread, moment);
    after_entry(selected->recorder, thread);
}

void clp_recorder_leave(struct clp_thread *thread)
{
    clp_recorder_note_return(thread);
    struct clp_moment moment = clp_recorder_begin(clp_recorder_of(thread), thread);

    clp_engine_leave(thread, moment.now);
    clp_recorder_of(thread)->blocks.lifted = false; /* those blocks were of a body that is gone */
    clp_recorder_end(thread, moment);
}

void clp_recorder_last_line(struct clp_thread *thread, int32_t line)
{
    clp_recorder_note_return(thread);
    struct clp_moment moment = clp_recorder_begin(clp_recorder_of(thread), thread);

    clp_engine_last_line(thread, line, moment.now);
    clp_recorder_of(thread)->blocks.lifted = false;
    clp_recorder_end(thread, moment);
}

void clp_recorder_suspend(struct clp_thread *thread)
{
    struct clp_moment moment = clp_recorder_begin(clp_recorder_of(thread), thread);

    clp_engine_suspend(thread, moment.now);
    clp_recorder_of(thread)->blocks.lifted = false; /* the blocks are suspended together with the body */
    clp_recorder_end(thread, moment);
}

void clp_recorder_switch_stack(struct clp_recorder *recorder, struct clp_thread *thread,
                               const void *from, const void *to)
{
    struct clp_moment moment = clp_recorder_begin(recorder, thread);

    clp_engine_switch_stack(thread, from, to, moment.now);
    recorder->blocks.lifted = false;
    clp_recorder_end(thread, moment);
    /* the switch took time in proportion to the size of the stacks */
    clp_engine_stand_still(thread, clp_engine_since_last(thread, clp_clock_read(&recorder->clock)));
}
