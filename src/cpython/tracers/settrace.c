/* SPDX-License-Identifier: MIT */
/* The settrace tracer: PyEval_SetTrace, for every version.
 *
 * Each thread has a trace function. A new thread gets it before it runs anything (newcomers.h). On 3.11 and
 * newer the trace function is called in all code, and looks at the code object at each call. On 3.10 a
 * frame-evaluation hook (PEP 523) switches tracing on only inside selected bodies, so that the rest of the
 * program runs at full speed.
 *
 * Since 3.12 the interpreter makes trace events from its LINE and JUMP events: a jump back to the line that is
 * running gives a line event that LINE does not give. These events are not counted, so that all tracers give
 * the same hits. */
#include "settrace.h"
#include "block_trace.h"
#include "cython.h"
#include "cpython/compat/newcomers.h"
#include "cpython/recorder/recorder.h"
#include "cpython/recorder/stays.h"
#include "trace_place.h"

/* The recorder that gets the events. Trace functions and hooks take no argument that could name it. */
static struct clp_recorder *hooked;

/* The trace function of a thread. */
static int on_event(PyObject *object, PyFrameObject *frame, int what, PyObject *argument);

/* Call this when the thread's trace function has changed. On 3.10 it switches tracing in the frame that
 * continues now on or off, as needed. */
static void settle(PyThreadState *state);

/* Does anybody want the trace events of this thread? */
static bool wants(const struct clp_recorder *recorder, const PyThreadState *state)
{
    return recorder->settrace_on || clp_blocks_trace(recorder, state);
}

/* Lets this recorder's trace function be set in threads. */
static void open_place(struct clp_recorder *recorder)
{
    static const struct clp_place_owner owner = {on_event, wants, settle};

    hooked = recorder;
    clp_place_open(recorder, &owner);
}

static const struct clp_selected *selected_of(PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    const struct clp_selected *selected = clp_recorder_traced(hooked, (PyObject *)code);

    Py_DECREF(code); /* the frame holds it */
    return selected;
}

/* The data of the frame's code if somebody counts its function; else NULL. */
static const struct clp_selected *counted_of(PyFrameObject *frame)
{
    const struct clp_selected *selected = selected_of(frame);

    return selected != NULL && clp_recorder_counts(selected) ? selected : NULL;
}

/* Does the body begin? Otherwise it resumes where it was left, or something is thrown into it before it has begun. */
static bool begins(const struct clp_selected *selected, PyFrameObject *frame)
{
    int offset = clp_compat_frame_offset(frame);

    if (CLP_HAS_FRAME_HOOK)
        return offset < 0;
    return offset >= selected->shape.entry && offset < selected->shape.first_yield;
}

/* The function's line at which the frame, whose body is on top, stands. */
static int line_of(const struct clp_thread *thread, PyFrameObject *frame)
{
    int line = PyFrame_GetLineNumber(frame);

    if (CLP_LIKELY((thread->top->code & 1) == 0))
        return line;
    const struct clp_selected *selected = selected_of(frame);
    return selected != NULL ? line - selected->moved : line;
}

#if CLP_HAS_FRAME_HOOK

/* ---- 3.10: tracing only inside selected bodies ---- */

static _PyFrameEvalFunction next_hook;

static void note_event(PyFrameObject *frame, int what, PyObject *argument)
{
    struct clp_thread *thread = clp_thread_here;

    (void)argument;
    if (what != PyTrace_LINE || thread == NULL)
        return;
    clp_blocks_lift(hooked, thread);
    if (thread->top->frame == frame)
        clp_recorder_line(hooked, thread, line_of(thread, frame));
    clp_blocks_lower(hooked, thread);
}

/* Does nobody but us use tracing in this thread, so that we may switch it? */
static bool ours(const PyThreadState *state)
{
    return state->c_tracefunc == on_event && !clp_place_is_shared(state) &&
           state->c_profilefunc == NULL;
}

static bool suspends(const PyFrameObject *frame, const PyObject *value)
{
    (void)value;
    return frame->f_state == FRAME_SUSPENDED;
}

static void switch_tracing(PyThreadState *state, bool on)
{
    state->cframe->use_tracing = on ? 255 : 0;
}

/* Must the lines of the frame that continues now be told? */
static bool is_wanted(const PyThreadState *state)
{
    const struct clp_thread *thread = clp_thread_here;

    return (thread != NULL && thread->top->frame == state->frame) ||
           clp_blocks_hold(hooked, state->frame);
}

static void settle(PyThreadState *state)
{
    if (ours(state))
        switch_tracing(state, is_wanted(state));
}

/* Takes the thread's place again, if its events are wanted. To be called when the frame that ran has set or
 * removed a trace function in the thread. */
static void retake_if_wanted(PyThreadState *state)
{
    if (state->c_tracefunc != NULL && wants(hooked, state))
        (void)clp_place_take(state);
    settle(state);
}

static PyObject *run_unselected(PyThreadState *state, PyFrameObject *frame, int throws)
{
    bool traced = state->cframe->use_tracing && ours(state);
    const PyObject *object = state->c_traceobj; /* never dereferenced */

    if (traced)
        switch_tracing(state, false);
    PyObject *result = next_hook(state, frame, throws);
    if (traced)
        switch_tracing(state, state->c_tracefunc != NULL || state->c_profilefunc != NULL);
    if (CLP_UNLIKELY(state->c_traceobj != object))
        retake_if_wanted(state);
    else if (traced || CLP_UNLIKELY(hooked->blocks.stays != NULL)) /* the frame may have opened a block */
        settle(state);
    return result;
}

/* Runs the frame of a generator that resumes within a block. */
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
    while (thread->top->frame != frame && thread->top != thread->stack)
        clp_recorder_leave(thread);
    if (suspends(frame, NULL))
        clp_recorder_suspend(thread);
    else
        clp_recorder_leave(thread);
}

static PyObject *run_selected(struct clp_thread *thread, const struct clp_selected *selected,
                              PyThreadState *state, PyFrameObject *frame, int throws)
{
    bool traced = state->cframe->use_tracing != 0;

    (void)clp_place_take(state);
    const PyObject *object = state->c_traceobj; /* never dereferenced */
    if (ours(state))
        switch_tracing(state, true);
    if (begins(selected, frame) && !throws)
        clp_recorder_enter(selected, thread, frame);
    else
        clp_recorder_resume(selected, thread, frame);
    PyObject *result = next_hook(state, frame, throws);
    note_exit(thread, frame);
    if (CLP_UNLIKELY(state->c_traceobj != object))
        retake_if_wanted(state);
    else if (!traced && ours(state))
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
    /* nothing that a trace function calls is traced */
    if (CLP_LIKELY(selected == NULL) || state->tracing != 0 ||
        (thread = clp_recorder_thread(hooked)) == NULL)
        return run_unselected(state, frame, throws);
    return run_selected(thread, selected, state, frame, throws);
}

static bool start(struct clp_recorder *recorder)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();

    open_place(recorder);
    if (_PyInterpreterState_GetEvalFrameFunc(interpreter) != on_frame) /* another profiler may have a hook */
        next_hook = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    _PyInterpreterState_SetEvalFrameFunc(interpreter, on_frame);
    recorder->settrace_on = true;
    return true;
}

static void stop(struct clp_recorder *recorder)
{
    if (!recorder->settrace_on)
        return;
    recorder->settrace_on = false;
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), next_hook);
    clp_place_leave_all();
    clp_place_close();
}

#else

/* ---- 3.11 and newer: every call is looked at ---- */

static bool may_suspend(PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);

    Py_DECREF(code); /* the frame holds it */
    return (code->co_flags & CLP_SUSPENDS) != 0;
}

static void note_call(struct clp_thread *thread, PyFrameObject *frame)
{
    const struct clp_selected *selected = counted_of(frame);

    if (selected == NULL) {
        if (CLP_UNLIKELY(clp_engine_left_last(thread, frame)))
            thread->top[1].frame = NULL; /* another body has this address now */
        clp_engine_add_cost(thread, may_suspend(frame) ? hooked->engine.costs.foreign_resume
                                                       : hooked->engine.costs.foreign_call);
        return;
    }
    if (begins(selected, frame))
        clp_recorder_enter(selected, thread, frame);
    else
        clp_recorder_resume(selected, thread, frame);
}

/* Is this return a suspension, which looks the same? A body that an exception leaves returns no value. */
static bool suspends(PyFrameObject *frame, const PyObject *value)
{
    const struct clp_selected *selected = selected_of(frame);

    return value != NULL && selected != NULL &&
           clp_code_lines_marked(&selected->shape, clp_compat_frame_offset(frame), CLP_UNIT_YIELDS);
}

/* Since 3.12: is this line event only a jump back to the line that was running, or at a place where no line
 * begins? */
static bool begins_nothing(const struct clp_thread *thread, PyFrameObject *frame, int line)
{
    bool runs = clp_engine_current_line(thread) == line;

    if (!CLP_COUNTS_AS_LINE || (!runs && !CLP_TRACE_EVENTS_STRAY))
        return false;
    const struct clp_selected *selected = selected_of(frame);
    int offset = clp_compat_frame_offset(frame);
    if (selected == NULL) /* another body has the address of a body whose end nobody told */
        return true;
    if (runs && clp_code_lines_marked(&selected->shape, offset, CLP_UNIT_LOOPS))
        return true;
    return runs != CLP_TRACE_EVENTS_STRAY &&
           clp_code_lines_repeats_at(&selected->shape, offset, line, thread->top->before);
}

static void note_line(struct clp_thread *thread, PyFrameObject *frame)
{
    int line = line_of(thread, frame);

    if (begins_nothing(thread, frame, line)) {
        clp_engine_add_cost(thread, hooked->engine.costs.stray);
        return;
    }
    bool again = thread->top->before == CLP_NO_LINE && clp_engine_current_line(thread) == line;
    /* what was thrown in here has begun the line anew, which it does once; of other exceptions nothing is known
     * now */
    thread->top->before = again ? line : 0;
    clp_recorder_told_line(hooked, thread, line);
}

static void note_return(struct clp_thread *thread, PyFrameObject *frame, const PyObject *value)
{
    if (suspends(frame, value))
        clp_recorder_suspend(thread);
    else
        clp_recorder_leave(thread);
}

/* Notes the line of an exception that is raised in the frame, or arrives there from a call. There is no event
 * when it is raised again. The interpreter also tells of an exception that ends an iterator, which has no
 * traceback of the frame. */
static void note_exception(struct clp_thread *thread, PyFrameObject *frame, PyObject *exception)
{
    const struct clp_selected *selected = selected_of(frame);
    PyObject *traceback = PyTuple_GET_ITEM(exception, 2);

    if (!CLP_LINE_EVENTS_REPEAT || selected == NULL || !selected->shape.asks_places ||
        !PyTraceBack_Check(traceback) || ((PyTracebackObject *)traceback)->tb_frame != frame)
        return;
    thread->top->before = clp_code_lines_thrown_into(&selected->shape, frame)
                              ? CLP_NO_LINE
                              : clp_code_lines_line_raised(frame);
}

/* May an event here tell of a line that was running already? Asked for a body that was found running, whose
 * line is not known. */
static bool may_repeat(const struct clp_selected *selected, PyFrameObject *frame)
{
    return clp_code_lines_marked(&selected->shape, clp_compat_frame_offset(frame),
                                 CLP_UNIT_LOOPS | CLP_UNIT_REPEATS);
}

/* May the body have resumed without an event? On 3.11 it does when what it awaits, or takes values from, ends
 * by an exception that is thrown in: it then continues behind the instruction that tells of calls. */
static bool may_go_on_untold(PyFrameObject *frame)
{
    return CLP_GOES_ON_UNTOLD && may_suspend(frame);
}

/* Takes an event of a body that is not on top. It is of no recorded body, except in three cases: the body
 * resumed without an event; a window was opened on it while it ran; or 3.15 told of a return of the caller when
 * making a generator failed, and the caller continues. */
static void note_other(struct clp_thread *thread, PyFrameObject *frame, int what,
                       const PyObject *value)
{
    clp_engine_add_cost(thread, hooked->engine.costs.foreign);
    /* where there is a limit, bodies count from where they begin or resume */
    bool opened_late = hooked->opened_late && hooked->limit.variable == NULL;
    bool late = what == PyTrace_LINE && CLP_UNLIKELY(opened_late || clp_engine_left_last(thread, frame));
    if (CLP_LIKELY(!late && !may_go_on_untold(frame)))
        return;
    const struct clp_selected *selected = counted_of(frame);
    if (selected == NULL || !clp_recorder_align(selected, thread, frame))
        return;
    if (what == PyTrace_RETURN)
        note_return(thread, frame, value);
    else if (what == PyTrace_LINE &&
             (clp_engine_current_line(thread) >= 0 || !may_repeat(selected, frame)))
        note_line(thread, frame);
}

/* The body with this frame, if only bodies of Cython, which have none, and open blocks lie above it; else NULL. */
static struct clp_activation *body_below(const struct clp_thread *thread, const PyFrameObject *frame)
{
    struct clp_activation *at = thread->top;

    while (at != thread->stack && at->frame != frame && (at->frame == NULL || hooked->blocks.stays != NULL))
        at--;
    return at->frame == frame ? at : NULL;
}

/* Since 3.13 the interpreter hands events of Cython functions with line tracing to trace functions, too, with the frame
 * of the Python function that has called them. Is this such an event? While the frame is within such calls, `before` of
 * its body is INT32_MIN plus their number. */
static bool is_of_callee(const struct clp_thread *thread, PyFrameObject *frame, int what)
{
    struct clp_activation *body = CLP_CYTHON_MONITORS ? body_below(thread, frame) : NULL;
    const struct clp_selected *selected;

    if (body == NULL)
        return false;
    if (what == PyTrace_CALL) {
        selected = selected_of(frame);
        int offset = clp_compat_frame_offset(frame);
        if (selected == NULL || offset == selected->shape.entry ||
            clp_code_lines_marked(&selected->shape, offset, CLP_UNIT_YIELDS))
            return false; /* the body begins or resumes: nothing told that it has ended, or was suspended, before */
        body->before = (body->before < CLP_NO_LINE ? body->before : INT32_MIN) + 1;
        return true;
    }
    if (body->before >= CLP_NO_LINE)
        return false;
    if (what == PyTrace_RETURN && --body->before == INT32_MIN)
        body->before = 0; /* the call was on the line that is running */
    return true;
}

/* Takes an event that Cython sends by itself: its frame is made for the event, and does not run. Is it one? */
static bool note_cython(struct clp_thread *thread, PyFrameObject *frame, int what)
{
    struct clp_cython_function *function = NULL;

    if (CLP_CYTHON_MONITORS || frame == clp_compat_frame_here())
        return false;
    PyCodeObject *code = PyFrame_GetCode(frame);
    function = clp_cython_find(hooked, (PyObject *)code);
    Py_DECREF(code); /* the frame holds it */
    if (function == NULL)
        clp_engine_add_cost(thread, hooked->engine.costs.foreign);
    else if (what == PyTrace_CALL)
        clp_cython_enter(function);
    else if (what == PyTrace_LINE)
        clp_cython_line(function, PyFrame_GetLineNumber(frame));
    else if (what == PyTrace_RETURN)
        clp_cython_leave(function);
    return true;
}

static void note_event(PyFrameObject *frame, int what, PyObject *argument)
{
    struct clp_thread *thread = clp_recorder_thread(hooked);

    if (CLP_UNLIKELY(thread == NULL) ||
        (CLP_UNLIKELY(hooked->cython.functions.count != 0) && note_cython(thread, frame, what)))
        return;
    if (CLP_UNLIKELY(is_of_callee(thread, frame, what))) {
        clp_engine_add_cost(thread, hooked->engine.costs.foreign);
        return;
    }
    if (thread->top->frame != frame)
        clp_blocks_lift(hooked, thread);
    if (what == PyTrace_CALL)
        note_call(thread, frame);
    else if (thread->top->frame != frame)
        note_other(thread, frame, what, argument);
    else if (what == PyTrace_LINE)
        note_line(thread, frame);
    else if (what == PyTrace_EXCEPTION)
        note_exception(thread, frame, argument);
    else if (what == PyTrace_RETURN)
        note_return(thread, frame, argument);
    clp_blocks_lower(hooked, thread);
}

static void settle(PyThreadState *state)
{
    (void)state;
}

/* ---- each thread, from its start ---- */

static void trace_newcomer(void *nothing)
{
    (void)nothing;
    (void)clp_place_take(PyThreadState_Get());
}

static bool start(struct clp_recorder *recorder)
{
    if (clp_recorder_thread(recorder) == NULL) {
        PyErr_NoMemory();
        return false;
    }
    recorder->settrace_on = true;
    open_place(recorder);
    clp_newcomers_meet(trace_newcomer, NULL);
    clp_place_take_all();
    return true;
}

/* Stops the tracer. Threads in which only we trace remove our trace function at their next event. */
static void stop(struct clp_recorder *recorder)
{
    recorder->displaced |= PyThreadState_Get()->c_tracefunc != on_event;
    recorder->settrace_on = false;
    clp_newcomers_meet(NULL, NULL);
    clp_place_leave_all();
    clp_place_close();
}

#endif

/* ---- the event, on all versions ---- */

static void tell(PyFrameObject *frame, int what, PyObject *argument)
{
    if (CLP_UNLIKELY(hooked->blocks.stays != NULL))
        clp_blocks_note(hooked, frame, what, argument);
    if (hooked->settrace_on)
        note_event(frame, what, argument);
}

/* Forgets what is kept of a frame's own trace function when the frame has ended. */
static void forget_ended(PyFrameObject *frame, int what, const PyObject *argument)
{
    if (what == PyTrace_RETURN && CLP_UNLIKELY(clp_place_mutes()) && !suspends(frame, argument))
        clp_place_forget(frame);
}

/* Takes an event that another trace function in this thread gets, too. If the frame returns or is suspended,
 * the event is recorded before the other one gets it, otherwise afterwards. So the time of the other one
 * belongs to the line before, and a line that it keeps from running is not counted. */
static int share_event(PyObject *object, PyFrameObject *frame, int what, PyObject *argument)
{
    const struct clp_selected *selected = counted_of(frame);
    struct clp_place_event event = {
        .frame = frame,
        .what = what,
        .argument = argument,
        .counted = selected != NULL || clp_blocks_hold(hooked, frame),
        .begins = selected != NULL && what == PyTrace_CALL && begins(selected, frame),
    };

    if (what == PyTrace_RETURN)
        tell(frame, what, argument);
    int outcome = clp_place_pass(object, &event);
    if (what != PyTrace_RETURN && outcome == 0)
        tell(frame, what, argument);
    forget_ended(frame, what, argument);
    return outcome;
}

static int on_event(PyObject *object, PyFrameObject *frame, int what, PyObject *argument)
{
    if (CLP_LIKELY(object == NULL && hooked->settrace_on)) {
        tell(frame, what, argument);
        forget_ended(frame, what, argument);
        return 0;
    }
    PyThreadState *state = PyThreadState_Get();
    bool wanted = wants(hooked, state);
    if (!wanted)
        clp_place_leave(state); /* the tracer was stopped, in another thread */
    else if (object == NULL)
        tell(frame, what, argument);
    /* with another object the caller is not the interpreter, but a tool that passes the event on */
    else if (state->c_traceobj == object || state->c_tracefunc != on_event)
        return share_event(object, frame, what, argument);
    if (object == NULL)
        return 0;
    return clp_place_pass(object, &(struct clp_place_event){frame, what, argument, false, false});
}

void clp_settrace_begin_here(struct clp_recorder *recorder)
{
    PyThreadState *state = PyThreadState_Get();

    open_place(recorder);
    (void)clp_place_take(state);
    settle(state);
}

void clp_settrace_end_here(const struct clp_recorder *recorder)
{
    PyThreadState *state = PyThreadState_Get();

    if (!wants(recorder, state))
        clp_place_leave(state);
    clp_place_close();
    settle(state);
}

static enum clp_selection select_code(struct clp_recorder *recorder, PyCodeObject *code,
                                      struct clp_selected *selected, const char **reason)
{
    (void)recorder, (void)code, (void)selected, (void)reason;
    return CLP_SELECTION_DONE; /* trace functions are called for all code */
}

const struct clp_tracer clp_tracer_settrace = {
    .name = "settrace",
    .start = start,
    .stop = stop,
    .select = select_code,
};
