/* SPDX-License-Identifier: MIT */
#include "callers.h"
#include "cpython/compat/inner_code.h"
#include "own_work.h"

/* The stay whose block this activation is; NULL: it is a body. */
static const struct clp_stay *stay_of(const struct clp_recorder *recorder, const struct clp_activation *at)
{
    const struct clp_stay *stay = recorder->blocks.stays;

    while (stay != NULL && at->frame != stay)
        stay = stay->next;
    return stay;
}

/* Is `frame`, which may be NULL, the frame of the body or block `at`? */
static bool runs_in(const struct clp_recorder *recorder, const struct clp_activation *at,
                    PyFrameObject *frame)
{
    const struct clp_stay *stay = stay_of(recorder, at);

    if (stay != NULL || frame == NULL)
        return stay != NULL && stay->frame == frame;
    PyCodeObject *code = PyFrame_GetCode(frame);
    const struct clp_selected *selected = clp_recorder_selected(recorder, (PyObject *)code);
    bool same = selected != NULL && selected->identity == at->code;
    Py_DECREF(code);
    return same;
}

static bool is_part_of_line(PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    bool part = clp_inner_code_is_part_of_line(code);

    Py_DECREF(code);
    return part;
}

/* The frame behind `frame`, to which it gives its reference. NULL at the bottom. */
static PyFrameObject *next_frame(PyFrameObject *frame)
{
    PyFrameObject *back = PyFrame_GetBack(frame);

    Py_DECREF(frame);
    return back;
}

/* Was the body or block on top begun by the body or block below it, with no frame between them but those of a
 * comprehension, which counts as a part of its line? */
static bool is_direct(const struct clp_recorder *recorder, const struct clp_activation *top)
{
    PyThreadState *state = PyThreadState_Get();
    PyFrameObject *frame = PyThreadState_GetFrame(state);
    /* 3.10 tells of a body before its frame is the running one; a block has no frame of its own */
    bool runs = top->frame == NULL || top->frame == frame || top->frame == clp_compat_running_frame(state);

    if (frame != NULL && runs)
        frame = next_frame(frame);
    while (frame != NULL && is_part_of_line(frame))
        frame = next_frame(frame);
    bool direct = runs_in(recorder, top - 1, frame);
    Py_XDECREF(frame);
    return direct;
}

void clp_callers_look(struct clp_recorder *recorder, struct clp_thread *thread)
{
    struct clp_call *fresh = recorder->engine.calls.fresh;
    struct clp_activation *top = thread->top;

    recorder->engine.calls.fresh = NULL;
    if (top->call != fresh || top - 1 == thread->stack)
        return;
    struct clp_own_work work = clp_own_work_begin(recorder);
    bool collected = clp_compat_stop_collecting();
    fresh->through = !is_direct(recorder, top);
    clp_compat_collect_again(collected);
    clp_own_work_end(recorder, work);
}
