/* SPDX-License-Identifier: MIT */
#include "callers.h"
#include "cpython/compat/inner_code.h"
#include "cpython/compat/raw_frames.h"
#include "own_work.h"

/* The stay whose block this activation is; NULL: it is a body. */
static const struct clp_stay *stay_of(const struct clp_recorder *recorder, const struct clp_activation *at)
{
    const struct clp_stay *stay = recorder->blocks.stays;

    while (stay != NULL && at->frame != stay)
        stay = stay->next;
    return stay;
}

/* Is this the frame of the body or block `at`? */
static bool runs_in(const struct clp_recorder *recorder, const struct clp_activation *at, const struct clp_raw_frame *frame)
{
    const struct clp_stay *stay = stay_of(recorder, at);

    if (stay != NULL)
        return frame->object == stay->frame;
    const struct clp_selected *selected = clp_recorder_selected(recorder, (PyObject *)(uintptr_t)frame->code);
    return selected != NULL && selected->identity == at->code;
}

/* Was the body or block on top begun by the body or block below it, with no frame between them but those of a
 * comprehension, which counts as a part of its line? */
static bool is_direct(const struct clp_recorder *recorder, const struct clp_activation *top)
{
    const void *newest = clp_compat_running_frame(PyThreadState_Get());
    struct clp_raw_frame frame;
    bool found = clp_raw_frame_begun(newest, &frame);

    /* 3.10 tells of a body before its frame is the running one; a block has no frame of its own */
    if (found && (top->frame == NULL || top->frame == newest || top->frame == frame.object))
        found = clp_raw_frame_begun(frame.previous, &frame);
    while (found && clp_inner_code_is_part_of_line((PyCodeObject *)(uintptr_t)frame.code))
        found = clp_raw_frame_begun(frame.previous, &frame);
    return found && runs_in(recorder, top - 1, &frame);
}

void clp_callers_look(struct clp_recorder *recorder, struct clp_thread *thread)
{
    struct clp_call *fresh = recorder->engine.calls.fresh;
    struct clp_activation *top = thread->top;

    recorder->engine.calls.fresh = NULL;
    if (top->call != fresh || top - 1 == thread->stack)
        return;
    struct clp_own_work work = clp_own_work_begin(recorder);
    fresh->through = !is_direct(recorder, top);
    clp_own_work_end(recorder, work);
}
