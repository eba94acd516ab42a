/* SPDX-License-Identifier: MIT */
/* Events of open blocks on CPython 3.10 and 3.11: the thread's trace function, while a block is open. */
#include "blocks.h"
#include "trace_place.h"

#if !CLP_HAS_MONITORING

/* A thread that is traced for blocks. */
struct source {
    struct source *next;
    const PyThreadState *state;
    int open; /* blocks */
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

void clp_blocks_note(struct clp_recorder *recorder, PyFrameObject *frame, int what,
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

bool clp_blocks_trace(const struct clp_recorder *recorder, const PyThreadState *state)
{
    const struct source *source = source_of(recorder, state);

    return source != NULL && source->open > 0;
}

static struct source *new_source(struct clp_recorder *recorder, const PyThreadState *state)
{
    struct source *source = clp_mem_alloc(&recorder->mem, 1, sizeof *source);

    if (source == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    *source = (struct source){recorder->blocks.source, state, 0};
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
    clp_settrace_open(stay->recorder);
    (void)clp_place_take(state);
    clp_settrace_settle(state);
    return true;
}

void clp_blocks_unwatch(struct clp_stay *stay)
{
    PyThreadState *state = PyThreadState_Get();
    struct source *source = stay->source;

    source->open--;
    if (!clp_settrace_wants(stay->recorder, state))
        clp_place_leave(state);
    clp_place_close();
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
