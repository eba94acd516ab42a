/* SPDX-License-Identifier: MIT */
/* Events of open blocks on CPython 3.10 and 3.11: the thread's trace function, while a block is open.
 * One that somebody else has set is called, too, and sys.gettrace() goes on to show it. */
#include "blocks.h"

#if !CLP_HAS_MONITORING

/* A thread that is traced for blocks. */
struct source {
    struct source *next;
    struct clp_recorder *recorder; /* borrowed */
    PyThreadState *state;
    Py_tracefunc before; /* the thread's own; its object stays where it is */
    int open;            /* blocks */
};

static struct source *source_of(const struct clp_recorder *recorder, const PyThreadState *state)
{
    struct source *source = recorder->blocks.source;

    while (source != NULL && source->state != state)
        source = source->next;
    return source;
}

/* Does the frame, which returns now, only yield? */
static bool is_suspended(const struct clp_recorder *recorder, PyFrameObject *frame)
{
#if CLP_HAS_FRAME_HOOK
    (void)recorder;
    return frame->f_state == FRAME_SUSPENDED;
#else
    return clp_blocks_yield_at(recorder, frame);
#endif
}

static void note(struct clp_recorder *recorder, PyFrameObject *frame, int what,
                const PyObject *argument)
{
    if (!clp_blocks_hold(recorder, frame))
        return;
    if (what == PyTrace_LINE)
        clp_blocks_line(recorder, frame, PyFrame_GetLineNumber(frame));
    else if (what == PyTrace_CALL)
        clp_blocks_resume(recorder, frame);
    else if (what == PyTrace_RETURN && argument != NULL && is_suspended(recorder, frame))
        clp_blocks_suspend(recorder, frame);
    else if (what == PyTrace_RETURN)
        clp_blocks_leave(recorder, frame);
}

static int on_event(PyObject *object, PyFrameObject *frame, int what, PyObject *argument)
{
    PyThreadState *state = PyThreadState_Get();
    struct clp_recorder *recorder =
        clp_thread_here != NULL ? clp_recorder_of(clp_thread_here) : NULL;
    struct source *source = recorder != NULL ? source_of(recorder, state) : NULL;
    Py_tracefunc before = source != NULL ? source->before : NULL;

    if (source != NULL)
        note(recorder, frame, what, argument);
    if (source == NULL || source->open == 0) /* a generator took its block to another thread */
        PyEval_SetTrace(before, object);
    return before != NULL ? before(object, frame, what, argument) : 0;
}

Py_tracefunc clp_blocks_trace_function(const struct clp_recorder *recorder,
                                       const PyThreadState *state)
{
    return state->c_tracefunc == on_event ? source_of(recorder, state)->before
                                          : state->c_tracefunc;
}

#if !CLP_HAS_FRAME_HOOK

static void clp_settrace_begin(PyThreadState *state)
{
    (void)state;
}

static void clp_settrace_settle(PyThreadState *state)
{
    (void)state;
}

#endif

static struct source *new_source(struct clp_recorder *recorder, PyThreadState *state)
{
    struct source *source = clp_mem_alloc(&recorder->mem, 1, sizeof *source);

    if (source == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    *source = (struct source){
        .next = recorder->blocks.source, .recorder = recorder, .state = state};
    recorder->blocks.source = source;
    return source;
}

/* Sources of threads that have ended keep their places: an address of a state is used again. */
bool clp_blocks_watch(struct clp_stay *stay, PyObject *code)
{
    PyThreadState *state = PyThreadState_Get();
    struct source *source = source_of(stay->recorder, state);

    (void)code;
    if (source == NULL && (source = new_source(stay->recorder, state)) == NULL)
        return false;
    stay->source = source;
    source->open++;
    if (state->c_tracefunc != on_event) {
        clp_settrace_begin(state);
        source->before = state->c_tracefunc;
        PyEval_SetTrace(on_event, state->c_traceobj);
    }
    clp_settrace_settle(state);
    return true;
}

void clp_blocks_unwatch(struct clp_stay *stay)
{
    PyThreadState *state = PyThreadState_Get();
    struct source *source = stay->source;

    if (--source->open == 0 && source->state == state && state->c_tracefunc == on_event)
        PyEval_SetTrace(source->before, state->c_traceobj);
    clp_settrace_settle(state);
}

void clp_blocks_unwatch_code(struct clp_recorder *recorder, PyObject *code)
{
    (void)recorder, (void)code;
}

void clp_blocks_unwatch_all(struct clp_recorder *recorder)
{
    (void)recorder;
}

#endif
