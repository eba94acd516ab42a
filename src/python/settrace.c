/* SPDX-License-Identifier: MIT */
/* The settrace tracer: PyEval_SetTrace, for every version.
 *
 * There is one trace function per thread; a new thread gets it before it runs anything (newcomers.h).
 * On 3.11 and newer it is called in all code and looks at the code object at each call; on 3.10 a
 * frame-evaluation hook (PEP 523) switches tracing on only inside selected bodies, which leaves the
 * rest of the program at full speed.
 *
 * Since 3.12 the interpreter makes trace events out of its LINE and JUMP events: a jump back to the
 * line it stands on gives a line event more than LINE does. Those are folded, so that all tracers
 * count the same. */
#include "blocks.h"
#include "newcomers.h"
#include "tracer.h"

#if CLP_HAS_FRAME_HOOK

/* ---- 3.10: tracing only inside selected bodies ---- */

/* The hook is given no argument of ours, so the one that records is found here. */
static struct clp_recorder *hooked;
static _PyFrameEvalFunction next_hook;

static int on_event(PyObject *object, PyFrameObject *frame, int what, PyObject *argument)
{
    struct clp_thread *thread = clp_thread_here;

    (void)object, (void)argument;
    if (what != PyTrace_LINE || thread == NULL)
        return 0;
    clp_blocks_lift(clp_recorder_of(thread), thread);
    if (thread->top->frame == frame)
        clp_recorder_line(clp_recorder_of(thread), thread, PyFrame_GetLineNumber(frame));
    clp_blocks_lower(clp_recorder_of(thread), thread);
    return 0;
}

static bool is_traced(const PyThreadState *state)
{
    return clp_blocks_trace_function(hooked, state) == on_event;
}

/* Is tracing in this thread ours alone to switch? */
static bool ours(const PyThreadState *state)
{
    return is_traced(state) && state->c_profilefunc == NULL;
}

static void switch_tracing(PyThreadState *state, bool on)
{
    state->cframe->use_tracing = on ? 255 : 0;
}

/* Does the frame that goes on now need its lines told? */
static bool is_wanted(const PyThreadState *state)
{
    const struct clp_thread *thread = clp_thread_here;

    return (thread != NULL && thread->top->frame == state->frame) ||
           clp_blocks_hold(hooked, state->frame);
}

void clp_settrace_settle(PyThreadState *state)
{
    if (ours(state))
        switch_tracing(state, is_wanted(state));
}

void clp_settrace_begin(PyThreadState *state)
{
    if (state->c_tracefunc == NULL)
        PyEval_SetTrace(on_event, NULL);
}

static PyObject *run_unselected(PyThreadState *state, PyFrameObject *frame, int throws)
{
    bool traced = state->cframe->use_tracing && ours(state);

    if (traced)
        switch_tracing(state, false);
    PyObject *result = next_hook(state, frame, throws);
    if (traced)
        switch_tracing(state, state->c_tracefunc != NULL || state->c_profilefunc != NULL);
    if (traced || CLP_UNLIKELY(hooked->blocks.stays != NULL)) /* it may have opened a block */
        clp_settrace_settle(state);
    return result;
}

/* A generator goes on within a block. */
static PyObject *run_block(PyThreadState *state, PyFrameObject *frame, int throws)
{
    bool traced = state->cframe->use_tracing != 0;

    if (ours(state))
        switch_tracing(state, true);
    PyObject *result = next_hook(state, frame, throws);
    if (!traced && ours(state))
        switch_tracing(state, false);
    return result;
}

static void note_exit(struct clp_thread *thread, const PyFrameObject *frame)
{
    if (!clp_engine_is_running(thread, frame))
        return;
    if (clp_recorder_of(thread)->blocks.stays != NULL)
        clp_blocks_lift_open(clp_recorder_of(thread), thread, frame);
    while (thread->top->frame != frame)
        clp_recorder_leave(thread);
    if (frame->f_state == FRAME_SUSPENDED)
        clp_recorder_suspend(thread);
    else
        clp_recorder_leave(thread);
}

static PyObject *run_selected(struct clp_thread *thread, const struct clp_selected *selected,
                              PyThreadState *state, PyFrameObject *frame, int throws)
{
    bool traced = state->cframe->use_tracing != 0;

    clp_settrace_begin(state);
    if (ours(state))
        switch_tracing(state, true);
    else if (!is_traced(state))
        hooked->displaced = true;
    if (frame->f_lasti < 0)
        clp_recorder_enter(selected, thread, frame);
    else
        clp_recorder_resume(selected, thread, frame);
    PyObject *result = next_hook(state, frame, throws);
    note_exit(thread, frame);
    if (!traced && ours(state))
        switch_tracing(state, false);
    return result;
}

static PyObject *on_frame(PyThreadState *state, PyFrameObject *frame, int throws)
{
    const struct clp_selected *selected =
        clp_recorder_traced(hooked, (PyObject *)frame->f_code);
    struct clp_thread *thread;

    if (selected != NULL && !clp_recorder_counts(selected))
        selected = NULL;
    if (CLP_UNLIKELY(hooked->blocks.stays != NULL) && selected == NULL &&
        clp_blocks_hold(hooked, frame))
        return run_block(state, frame, throws);
    if (CLP_LIKELY(selected == NULL) || (thread = clp_recorder_thread(hooked)) == NULL)
        return run_unselected(state, frame, throws);
    return run_selected(thread, selected, state, frame, throws);
}

static bool start(struct clp_recorder *recorder)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();

    hooked = recorder;
    if (_PyInterpreterState_GetEvalFrameFunc(interpreter) != on_frame) /* another profiler's */
        next_hook = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    _PyInterpreterState_SetEvalFrameFunc(interpreter, on_frame);
    return true;
}

static void stop(struct clp_recorder *recorder)
{
    PyThreadState *state = PyThreadState_Get();

    if (hooked != recorder)
        return;
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), next_hook);
    if (state->c_tracefunc == on_event)
        PyEval_SetTrace(NULL, NULL);
}

#else

/* ---- 3.11 and newer: every call is looked at ---- */

static const struct clp_selected *selected_of(const struct clp_recorder *recorder,
                                              PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);

    Py_DECREF(code); /* the frame holds it */
    return clp_recorder_traced(recorder, (PyObject *)code);
}

static void note_call(struct clp_recorder *recorder, PyFrameObject *frame)
{
    const struct clp_selected *selected = selected_of(recorder, frame);
    struct clp_thread *thread;

    if ((thread = clp_recorder_thread(recorder)) == NULL)
        return;
    if (selected == NULL || !clp_recorder_counts(selected)) {
        if (CLP_UNLIKELY(clp_engine_left_last(thread, frame)))
            thread->top[1].frame = NULL; /* another body at its address */
        clp_engine_add_cost(thread, recorder->engine.costs.foreign);
        return;
    }
    if (clp_compat_frame_offset(frame) < selected->shape.first_yield)
        clp_recorder_enter(selected, thread, frame);
    else
        clp_recorder_resume(selected, thread, frame);
}

/* A suspension looks like a return; a body that an exception leaves returns no value. */
static bool suspends(const struct clp_recorder *recorder, PyFrameObject *frame,
                     const PyObject *value)
{
    const struct clp_selected *selected = selected_of(recorder, frame);

    return value != NULL && selected != NULL &&
           clp_shape_yields_at(&selected->shape, clp_compat_frame_offset(frame));
}

/* Since 3.12: is this event only a jump back to the line that was running already, or one where no
 * line begins? */
static bool begins_nothing(const struct clp_recorder *recorder, const struct clp_thread *thread,
                           PyFrameObject *frame, int line)
{
    bool runs = clp_engine_current_line(thread) == line;

    if (PY_VERSION_HEX < 0x030C0000 || (!runs && !CLP_TRACE_EVENTS_STRAY))
        return false;
    const struct clp_shape *shape = &selected_of(recorder, frame)->shape;
    int offset = clp_compat_frame_offset(frame);
    if (runs && clp_shape_loops_at(shape, offset))
        return true;
    return runs != CLP_TRACE_EVENTS_STRAY && clp_shape_repeats_at(shape, offset);
}

static void note_line(struct clp_recorder *recorder, struct clp_thread *thread,
                      PyFrameObject *frame)
{
    int line = PyFrame_GetLineNumber(frame);

    if (!begins_nothing(recorder, thread, frame, line))
        clp_recorder_line(recorder, thread, line);
}

static void note_return(struct clp_recorder *recorder, struct clp_thread *thread,
                        PyFrameObject *frame, const PyObject *value)
{
    if (suspends(recorder, frame, value))
        clp_recorder_suspend(thread);
    else
        clp_recorder_leave(thread);
}

/* May an event here be of a line that was running already? Asked of a body that was found running, at a
 * line that is not known. */
static bool may_repeat(const struct clp_selected *selected, PyFrameObject *frame)
{
    int offset = clp_compat_frame_offset(frame);

    return PY_VERSION_HEX >= 0x030C0000 && (clp_shape_loops_at(&selected->shape, offset) ||
                                            clp_shape_repeats_at(&selected->shape, offset));
}

/* An event of a body that is not on top: not selected, but for two cases. A window was opened on it while
 * it ran; and 3.15 tells of a return of the caller when making a generator fails, and the caller goes
 * on. */
static void note_other(struct clp_recorder *recorder, struct clp_thread *thread,
                       PyFrameObject *frame, int what)
{
    clp_engine_add_cost(thread, recorder->engine.costs.foreign);
    if (what != PyTrace_LINE ||
        CLP_LIKELY(!recorder->opened_late && !clp_engine_left_last(thread, frame)))
        return;
    const struct clp_selected *selected = selected_of(recorder, frame);
    if (selected == NULL || !clp_recorder_counts(selected) ||
        !clp_recorder_align(selected, thread, frame))
        return;
    if (clp_engine_current_line(thread) >= 0 || !may_repeat(selected, frame))
        note_line(recorder, thread, frame);
}

/* `hook` is what sys.gettrace() shows; the recorder owns it while the tracer is on. */
static struct clp_recorder *recorder_of(PyObject *hook)
{
    return PyCapsule_GetPointer(PyCFunction_GET_SELF(hook), NULL);
}


static int on_event(PyObject *object, PyFrameObject *frame, int what, PyObject *argument)
{
    struct clp_thread *thread = clp_thread_here;
    struct clp_recorder *recorder;

    if (CLP_UNLIKELY(thread == NULL && (thread = clp_recorder_thread(recorder_of(object))) == NULL))
        return 0;
    recorder = clp_recorder_of(thread);
    if (CLP_UNLIKELY(recorder->settrace_state == NULL)) {
        PyEval_SetTrace(NULL, NULL); /* it stopped, in another thread */
        return 0;
    }
    if (thread->top->frame != frame)
        clp_blocks_lift(recorder, thread);
    if (what == PyTrace_CALL)
        note_call(recorder, frame);
    else if (thread->top->frame != frame)
        note_other(recorder, thread, frame, what);
    else if (what == PyTrace_LINE)
        note_line(recorder, thread, frame);
    else if (what == PyTrace_RETURN)
        note_return(recorder, thread, frame, argument);
    clp_blocks_lower(recorder, thread);
    return 0;
}

/* What sys.gettrace() shows. It is called in place of a trace function when somebody took sys.settrace
 * and gives it back: it puts the C function in again. */
static PyObject *trace_again(PyObject *self, PyObject *arguments)
{
    struct clp_recorder *recorder = PyCapsule_GetPointer(self, NULL);
    PyObject *frame, *event, *value;

    if (recorder == NULL ||
        !PyArg_ParseTuple(arguments, "O!OO", &PyFrame_Type, &frame, &event, &value))
        return NULL;
    if (recorder->settrace_state == NULL)
        Py_RETURN_NONE;
    recorder->displaced |= clp_thread_here != NULL;
    if (clp_recorder_thread(recorder) == NULL)
        Py_RETURN_NONE;
    PyEval_SetTrace(on_event, recorder->settrace_state);
    if (PyUnicode_CompareWithASCIIString(event, "call") == 0)
        note_call(recorder, (PyFrameObject *)frame);
    Py_RETURN_NONE;
}

static PyMethodDef trace_again_method = {"clineprof_trace", trace_again, METH_VARARGS, NULL};

/* ---- every thread, from its start ---- */

/* Has another tool this thread's trace function? A block's goes on calling what was there before it. */
static bool is_foreign(const struct clp_recorder *recorder, const PyThreadState *thread)
{
    Py_tracefunc function = clp_blocks_trace_function(recorder, thread);

    return function != NULL && function != on_event;
}

static void trace_newcomer(void *hook)
{
    PyEval_SetTrace(on_event, hook);
}

#if PY_VERSION_HEX >= 0x030C0000
/* Of all threads, unless one of them is somebody's: a tool that is there already stays. */
static void take_threads(struct clp_recorder *recorder, PyObject *hook)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    const PyThreadState *thread = PyInterpreterState_ThreadHead(interpreter);

    while (thread != NULL && !is_foreign(recorder, thread))
        thread = PyThreadState_Next((PyThreadState *)thread);
    if (thread == NULL) {
        PyEval_SetTraceAllThreads(on_event, hook);
        return;
    }
    recorder->displaced = true;
    if (!is_foreign(recorder, PyThreadState_Get()))
        PyEval_SetTrace(on_event, hook);
}
#else
/* A tool that is there already stays. */
static void take_threads(struct clp_recorder *recorder, PyObject *hook)
{
    PyThreadState *state = PyInterpreterState_ThreadHead(PyInterpreterState_Get());

    for (; state != NULL; state = PyThreadState_Next(state)) {
        if (is_foreign(recorder, state))
            recorder->displaced = true;
        else if (_PyEval_SetTrace(state, on_event, hook) != 0)
            PyErr_WriteUnraisable(NULL);
    }
}
#endif

static PyObject *new_hook(struct clp_recorder *recorder)
{
    PyObject *capsule = PyCapsule_New(recorder, NULL, NULL);
    PyObject *hook = capsule != NULL ? PyCFunction_New(&trace_again_method, capsule) : NULL;

    Py_XDECREF(capsule);
    return hook;
}

static bool start(struct clp_recorder *recorder)
{
    PyObject *hook = new_hook(recorder);

    if (hook == NULL)
        return false;
    if (clp_recorder_thread(recorder) == NULL) {
        Py_DECREF(hook);
        PyErr_NoMemory();
        return false;
    }
    recorder->settrace_state = hook; /* owned */
    clp_newcomers_meet(trace_newcomer, hook);
    take_threads(recorder, hook);
    return true;
}

/* Other threads leave at their next event. */
static void stop(struct clp_recorder *recorder)
{
    const PyThreadState *here = PyThreadState_Get();
    PyObject *hook = recorder->settrace_state;

    recorder->settrace_state = NULL;
    clp_newcomers_meet(NULL, NULL);
    recorder->displaced |= clp_blocks_trace_function(recorder, here) != on_event;
    if (here->c_tracefunc == on_event)
        PyEval_SetTrace(NULL, NULL);
    Py_DECREF(hook);
}

#endif

static enum clp_selection select_code(struct clp_recorder *recorder, PyCodeObject *code,
                                      struct clp_selected *selected, const char **reason)
{
    (void)reason;
    if (selected->studied)
        return CLP_SELECTION_DONE;
    if (PY_VERSION_HEX >= 0x030C0000 &&
        !clp_shape_find_loops(&selected->shape, &recorder->mem, code, &recorder->opcodes))
        return CLP_SELECTION_FAILED;
    if (PY_VERSION_HEX >= 0x030C0000 && recorder->knows_bytecode &&
        !clp_shape_find_repeats(&selected->shape, &recorder->mem, code, &recorder->bytecode))
        return CLP_SELECTION_FAILED;
    selected->studied = true;
    return CLP_SELECTION_DONE;
}

const struct clp_tracer clp_tracer_settrace = {
    .name = "settrace",
    .start = start,
    .stop = stop,
    .select = select_code,
};
