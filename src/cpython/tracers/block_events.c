/* SPDX-License-Identifier: MIT */
#include "block_events.h"
#include "cpython/recorder/ranges.h"
#include "cpython/recorder/recorder.h"

/* Is the block counted? A block that is on the stack is counted to its end, even if nobody counts it any more. */
static bool is_counted(const struct clp_stay *stay, const struct clp_thread *thread)
{
    return clp_recorder_counts(stay->selected) || clp_engine_is_running(thread, stay);
}

/* Begins a line of the block. The line of the `with` is told again when its block ends: what follows then is no
 * line of the block. */
static void begin_line(struct clp_stay *stay, struct clp_thread *thread, int line)
{
    if (!is_counted(stay, thread))
        return;
    if (line > stay->first) {
        clp_stays_put_on_top(stay, thread);
        clp_recorder_line(stay->recorder, thread, line);
        stay->begun = true;
        stay->over = false;
    } else if (stay->begun && clp_stays_on_top(thread, stay)) {
        clp_recorder_leave(thread);
        stay->over = true;
    }
}

/* Begins the line in each block of the frame, the oldest first: a block within another one is part of it. */
static void begin_lines(struct clp_stay *stay, const PyFrameObject *frame,
                        struct clp_thread *thread, int line)
{
    if (stay == NULL)
        return;
    begin_lines(stay->next, frame, thread, line);
    if (stay->frame == frame)
        begin_line(stay, thread, line);
}

static bool repeats(const struct clp_stay *stay, const struct clp_thread *thread, int line)
{
    return CLP_LINE_EVENTS_REPEAT && clp_stays_on_top(thread, stay) &&
           clp_engine_current_line(thread) == line &&
           clp_code_lines_repeats_at(&stay->selected->shape,
                                     clp_compat_frame_offset(stay->frame), line, CLP_NO_LINE);
}

/* Is the block within another block of the same body? */
static bool is_within(const struct clp_stay *stay)
{
    const struct clp_stay *older = stay->next;

    while (older != NULL && older->frame != stay->frame)
        older = older->next;
    return older != NULL;
}

void clp_blocks_line(struct clp_recorder *recorder, PyFrameObject *frame, int line)
{
    struct clp_thread *thread = clp_recorder_thread(recorder);
    struct clp_stay *top = thread != NULL ? clp_stays_top(recorder, thread) : NULL;

    if (thread == NULL || (top != NULL && top->frame == frame && repeats(top, thread, line)))
        return;
    if (top != NULL && top->frame == frame && is_within(top))
        clp_blocks_lift_open(recorder, thread, frame);
    recorder->blocks.lifted = false;
    recorder->blocks.walks++;
    begin_lines(recorder->blocks.stays, frame, thread, line);
    recorder->blocks.walks--;
    clp_ranges_catch_up();
}

void clp_blocks_suspend(struct clp_recorder *recorder, const PyFrameObject *frame)
{
    if (clp_thread_here != NULL)
        clp_blocks_lift_open(recorder, clp_thread_here, frame);
    recorder->blocks.lifted = false;
    clp_ranges_catch_up();
}

static void resume_from(struct clp_stay *stay, const PyFrameObject *frame,
                        struct clp_thread *thread)
{
    if (stay == NULL)
        return;
    resume_from(stay->next, frame, thread);
    if (stay->frame == frame && clp_recorder_counts(stay->selected) &&
        !clp_engine_is_running(thread, stay))
        clp_stays_push(stay, thread);
}

void clp_blocks_resume(struct clp_recorder *recorder, const PyFrameObject *frame)
{
    struct clp_thread *thread = clp_recorder_thread(recorder);

    recorder->blocks.walks++;
    if (thread != NULL)
        resume_from(recorder->blocks.stays, frame, thread);
    recorder->blocks.walks--;
    clp_ranges_catch_up();
}

/* The body is left, but its `with` never was, because it was entered by hand (`__enter__`). */
void clp_blocks_leave(struct clp_recorder *recorder, const PyFrameObject *frame)
{
    struct clp_thread *thread = clp_thread_here;

    recorder->blocks.walks++;
    for (struct clp_stay *stay = recorder->blocks.stays; stay != NULL; stay = stay->next) {
        if (stay->frame == frame && thread != NULL && clp_engine_is_running(thread, stay)) {
            clp_stays_put_on_top(stay, thread);
            clp_recorder_leave(thread);
        }
    }
    recorder->blocks.walks--;
    clp_ranges_catch_up();
}

bool clp_blocks_yield_at(const struct clp_recorder *recorder, PyFrameObject *frame)
{
    for (const struct clp_stay *stay = recorder->blocks.stays; stay != NULL; stay = stay->next)
        if (stay->frame == frame)
            return clp_code_lines_marked(&stay->selected->shape, clp_compat_frame_offset(frame),
                                         CLP_UNIT_YIELDS);
    return false;
}

void clp_blocks_begin(struct clp_stay *stay)
{
    struct clp_thread *thread = clp_recorder_thread(stay->recorder);

    if (thread != NULL && clp_recorder_counts(stay->selected))
        clp_recorder_enter(stay->selected, thread, stay);
}

/* Ends the block. A block on the line of its `with` had no event of its own, so that line gets all of it. */
static void end(struct clp_stay *stay, struct clp_thread *thread)
{
    clp_stays_put_on_top(stay, thread);
    if (!stay->begun)
        clp_recorder_line(stay->recorder, thread, stay->first);
    clp_recorder_leave(thread);
}

void clp_blocks_end(struct clp_stay *stay)
{
    struct clp_thread *thread = clp_recorder_thread(stay->recorder);

    if (thread == NULL || stay->over || !is_counted(stay, thread))
        return;
    stay->recorder->blocks.walks++; /* a block that goes on top only to end there has no range of its own */
    end(stay, thread);
    stay->recorder->blocks.walks--;
    clp_ranges_catch_up();
}
