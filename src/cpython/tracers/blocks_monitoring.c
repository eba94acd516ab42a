/* SPDX-License-Identifier: MIT */
/* Events of open blocks on CPython 3.12 and newer: local events of sys.monitoring, on the code in which blocks
 * stand, under a tool id of their own. Code stays watched when its block is left, because most blocks are
 * entered again. A line of it outside the block costs some 50 ns until profiling pauses or ends. */
#include "block_events.h"
#include "block_source.h"
#include "cpython/compat/raised.h"
#include "cpython/compat/sysmon.h"

#if CLP_HAS_MONITORING

struct source {
    int tool;
    long events; /* the set of events that watched code gets */
};

/* The running frame, borrowed, if a block of it is open; else NULL. */
static PyFrameObject *frame_here(PyObject *capsule, struct clp_recorder **recorder)
{
    PyFrameObject *frame;

    *recorder = PyCapsule_GetPointer(capsule, NULL);
    if ((*recorder)->blocks.stays == NULL)
        return NULL;
    frame = PyEval_GetFrame();
    return frame != NULL && clp_blocks_hold(*recorder, frame) ? frame : NULL;
}

static PyObject *on_line(PyObject *capsule, PyObject *const *args, Py_ssize_t nargs)
{
    struct clp_recorder *recorder;
    PyFrameObject *frame = frame_here(capsule, &recorder);

    (void)nargs;
    if (frame != NULL)
        clp_blocks_line(recorder, frame, clp_compat_small_int(args[1]));
    Py_RETURN_NONE;
}

static PyObject *on_yield(PyObject *capsule, PyObject *const *args, Py_ssize_t nargs)
{
    struct clp_recorder *recorder;
    const PyFrameObject *frame = frame_here(capsule, &recorder);

    (void)args, (void)nargs;
    if (frame != NULL)
        clp_blocks_suspend(recorder, frame);
    Py_RETURN_NONE;
}

static PyObject *on_resume(PyObject *capsule, PyObject *const *args, Py_ssize_t nargs)
{
    struct clp_recorder *recorder;
    const PyFrameObject *frame = frame_here(capsule, &recorder);

    (void)args, (void)nargs;
    if (frame != NULL)
        clp_blocks_resume(recorder, frame);
    Py_RETURN_NONE;
}

static PyObject *on_return(PyObject *capsule, PyObject *const *args, Py_ssize_t nargs)
{
    struct clp_recorder *recorder;
    const PyFrameObject *frame = frame_here(capsule, &recorder);

    (void)args, (void)nargs;
    if (frame != NULL)
        clp_blocks_leave(recorder, frame);
    Py_RETURN_NONE;
}

static PyMethodDef handlers[] = {
    {"LINE", CLP_C_FUNCTION(on_line), METH_FASTCALL, NULL},
    {"PY_YIELD", CLP_C_FUNCTION(on_yield), METH_FASTCALL, NULL},
    {"PY_RESUME", CLP_C_FUNCTION(on_resume), METH_FASTCALL, NULL},
    {"PY_RETURN", CLP_C_FUNCTION(on_return), METH_FASTCALL, NULL},
};

#define HANDLER_COUNT (sizeof handlers / sizeof *handlers)

static bool register_all(struct clp_recorder *recorder, struct source *source)
{
    PyObject *capsule = PyCapsule_New(recorder, NULL, NULL);
    bool done = capsule != NULL &&
                clp_sysmon_register(source->tool, handlers, HANDLER_COUNT, capsule, &source->events);

    Py_XDECREF(capsule);
    return done;
}

static void free_source(struct clp_recorder *recorder)
{
    struct source *source = recorder->blocks.source;

    if (source->tool >= 0)
        clp_sysmon_free(source->tool, handlers, HANDLER_COUNT);
    clp_mem_free(&recorder->mem, source, 1, sizeof *source);
    recorder->blocks.source = NULL;
}

static bool set_up(struct clp_recorder *recorder)
{
    static const int tool_ids[] = {3, 4, 5, 2, 1, 0, -1};
    struct source *source = clp_mem_alloc(&recorder->mem, 1, sizeof *source);

    if (source == NULL) {
        PyErr_NoMemory();
        return false;
    }
    recorder->blocks.source = source;
    source->tool = clp_sysmon_take(tool_ids);
    if (source->tool >= 0 && register_all(recorder, source))
        return true;
    struct clp_raised raised = clp_raised_take();
    free_source(recorder);
    clp_raised_give(raised);
    return false;
}

static bool set_events(struct clp_recorder *recorder, PyObject *code, long events)
{
    const struct source *source = recorder->blocks.source;

    return clp_sysmon_call("set_local_events", "(iOl)", source->tool, code, events);
}

bool clp_blocks_watch(struct clp_stay *stay, PyObject *code)
{
    struct clp_recorder *recorder = stay->recorder;

    if (recorder->blocks.source == NULL && !set_up(recorder))
        return false;
    return set_events(recorder, code, ((struct source *)recorder->blocks.source)->events);
}

void clp_blocks_unwatch(struct clp_stay *stay)
{
    (void)stay;
}

void clp_blocks_unwatch_code(struct clp_recorder *recorder, PyObject *code)
{
    if (recorder->blocks.source != NULL && !set_events(recorder, code, 0))
        PyErr_Clear();
}

void clp_blocks_unwatch_all(struct clp_recorder *recorder)
{
    if (recorder->blocks.source != NULL)
        free_source(recorder);
    PyErr_Clear();
}

#endif
