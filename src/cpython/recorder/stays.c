/* SPDX-License-Identifier: MIT */
#include "stays.h"
#include "callers.h"
#include "ranges.h"

void clp_stays_push(struct clp_stay *stay, struct clp_thread *thread)
{
    struct clp_recorder *recorder = stay->recorder;
    const struct clp_selected *selected = stay->selected;
    struct clp_moment moment = clp_recorder_begin(recorder, thread);
    struct clp_activation *top =
        clp_engine_resume(thread, selected->function, stay, moment.now);

    clp_recorder_note_code(top, selected);
    clp_recorder_end(thread, moment);
    clp_callers_note(recorder, thread);
}

void clp_stays_put_on_top(struct clp_stay *stay, struct clp_thread *thread)
{
    uint64_t now = clp_clock_read(&stay->recorder->clock);

    if (clp_stays_on_top(thread, stay))
        return;
    if (clp_engine_is_running(thread, stay))
        (void)clp_engine_align(thread, stay->selected->function, stay, now);
    else
        clp_stays_push(stay, thread);
}

struct clp_stay *clp_stays_top(const struct clp_recorder *recorder, const struct clp_thread *thread)
{
    struct clp_stay *stay = recorder->blocks.stays;

    while (stay != NULL && !clp_stays_on_top(thread, stay))
        stay = stay->next;
    return stay;
}

void clp_blocks_lift_open(struct clp_recorder *recorder, struct clp_thread *thread,
                          const PyFrameObject *frame)
{
    struct clp_stay *stay = recorder->blocks.stays;

    recorder->blocks.walks++;
    for (struct clp_stay *at = stay; at != NULL; at = at->next)
        at->lifted = false;
    while ((stay = clp_stays_top(recorder, thread)) != NULL && stay->frame == frame) {
        clp_recorder_suspend(thread);
        stay->lifted = true;
        recorder->blocks.lifted = true;
    }
    recorder->blocks.walks--;
}

/* Puts lifted blocks back onto the stack, the oldest first. */
static void lower_from(struct clp_stay *stay, struct clp_thread *thread)
{
    if (stay == NULL)
        return;
    lower_from(stay->next, thread);
    if (stay->lifted)
        clp_stays_push(stay, thread);
    stay->lifted = false;
}

void clp_blocks_lower_lifted(struct clp_recorder *recorder, struct clp_thread *thread)
{
    recorder->blocks.lifted = false;
    recorder->blocks.walks++;
    lower_from(recorder->blocks.stays, thread);
    recorder->blocks.walks--;
    clp_ranges_catch_up();
}

bool clp_blocks_hold(const struct clp_recorder *recorder, const PyFrameObject *frame)
{
    const struct clp_stay *stay = recorder->blocks.stays;

    while (stay != NULL && stay->frame != frame)
        stay = stay->next;
    return stay != NULL;
}

void clp_recorder_resume(const struct clp_selected *selected, struct clp_thread *thread,
                         const void *frame)
{
    struct clp_recorder *recorder = selected->recorder;

    clp_blocks_lift(recorder, thread); /* the blocks may have been told of the resumption already */
    struct clp_moment moment = clp_recorder_begin(recorder, thread);
    clp_recorder_note_code(clp_engine_resume(thread, selected->function, frame, moment.now), selected);
    clp_recorder_end(thread, moment);
    clp_callers_note(recorder, thread);
    clp_blocks_lower(recorder, thread);
}

bool clp_recorder_align(const struct clp_selected *selected, struct clp_thread *thread,
                        const void *frame)
{
    clp_blocks_lift(selected->recorder, thread);
    struct clp_activation *activation = clp_engine_align(
        thread, selected->function, frame, clp_clock_read(&selected->recorder->clock));

    clp_recorder_note_code(activation, selected);
    clp_callers_note(selected->recorder, thread);
    return activation != NULL;
}
