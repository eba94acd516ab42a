/* SPDX-License-Identifier: MIT */
#include "callers.h"
#include "cpython/compat/inner_code.h"
#include "own_work.h"

/* ---- frames ---- */

#if CLP_SINCE(11) && !CLP_SINCE(13)
/* No frame gets an object for this. The program would notice: the making of an object may begin a collection, or on 3.12
 * have one begun. */
#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>

typedef struct _PyInterpreterFrame frame_type;

static frame_type *begun(frame_type *frame)
{
    while (frame != NULL && _PyFrame_IsIncomplete(frame))
        frame = frame->previous;
    return frame;
}

static frame_type *first_frame(PyThreadState *state)
{
    return begun(state->cframe->current_frame);
}

static frame_type *next_frame(frame_type *frame)
{
    return begun(frame->previous);
}

static void leave_frame(frame_type *frame)
{
    (void)frame;
}

static PyCodeObject *code_of(frame_type *frame)
{
    return (PyCodeObject *)Py_NewRef((PyObject *)frame->f_code);
}

/* Is `object` a frame object, and that of this frame? */
static bool has_object(const frame_type *frame, const void *object)
{
    return frame->frame_obj != NULL && frame->frame_obj == object;
}
#else
typedef PyFrameObject frame_type;

static frame_type *first_frame(PyThreadState *state)
{
    return PyThreadState_GetFrame(state);
}

/* The frame behind `frame`, to which it gives its reference. NULL at the bottom. */
static frame_type *next_frame(frame_type *frame)
{
    frame_type *back = PyFrame_GetBack(frame);

    Py_DECREF(frame);
    return back;
}

static void leave_frame(frame_type *frame)
{
    Py_XDECREF(frame);
}

static PyCodeObject *code_of(frame_type *frame)
{
    return PyFrame_GetCode(frame);
}

static bool has_object(const frame_type *frame, const void *object)
{
    return frame == object;
}
#endif

/* ---- who called ---- */

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
                    frame_type *frame)
{
    const struct clp_stay *stay = stay_of(recorder, at);

    if (frame == NULL)
        return false;
    if (stay != NULL)
        return has_object(frame, stay->frame);
    PyCodeObject *code = code_of(frame);
    const struct clp_selected *selected = clp_recorder_selected(recorder, (PyObject *)code);
    bool same = selected != NULL && selected->identity == at->code;
    Py_DECREF(code);
    return same;
}

static bool is_part_of_line(frame_type *frame)
{
    PyCodeObject *code = code_of(frame);
    bool part = clp_inner_code_is_part_of_line(code);

    Py_DECREF(code);
    return part;
}

/* Was the body or block on top begun by the body or block below it, with no frame between them but those of a
 * comprehension, which counts as a part of its line? */
static bool is_direct(const struct clp_recorder *recorder, const struct clp_activation *top)
{
    PyThreadState *state = PyThreadState_Get();
    frame_type *frame = first_frame(state);
    /* 3.10 tells of a body before its frame is the running one; a block has no frame of its own */
    bool runs = top->frame == NULL || top->frame == clp_compat_running_frame(state);

    if (frame != NULL && (runs || has_object(frame, top->frame)))
        frame = next_frame(frame);
    while (frame != NULL && is_part_of_line(frame))
        frame = next_frame(frame);
    bool direct = runs_in(recorder, top - 1, frame);
    leave_frame(frame);
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
