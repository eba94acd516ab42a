/* SPDX-License-Identifier: MIT */
#include "block_trace.h"
#include "block_events.h"

#if !CLP_HAS_MONITORING

static struct clp_traced *traced_of(const struct clp_recorder *recorder, const PyThreadState *state)
{
    struct clp_traced *traced = recorder->blocks.source;

    while (traced != NULL && traced->state != state)
        traced = traced->next;
    return traced;
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
    const struct clp_traced *traced = traced_of(recorder, state);

    return traced != NULL && traced->open > 0;
}

static struct clp_traced *new_traced(struct clp_recorder *recorder, const PyThreadState *state)
{
    struct clp_traced *traced = clp_mem_alloc(&recorder->mem, 1, sizeof *traced);

    if (traced == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    *traced = (struct clp_traced){recorder->blocks.source, state, 0};
    recorder->blocks.source = traced;
    return traced;
}

/* Entries of threads that have ended stay in the list, because the address of a thread state is used again. */
struct clp_traced *clp_blocks_begin_trace(struct clp_recorder *recorder, const PyThreadState *state)
{
    struct clp_traced *traced = traced_of(recorder, state);

    if (traced == NULL)
        traced = new_traced(recorder, state);
    if (traced != NULL)
        traced->open++;
    return traced;
}

#endif
