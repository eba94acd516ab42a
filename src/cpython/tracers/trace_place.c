/* SPDX-License-Identifier: MIT */
#include "trace_place.h"
#include "cpython/compat/exchange.h"
#include "cpython/compat/raised.h"

/* The C function of a trace function, found by the object that it is set with. An object's address may be
 * used again; then the function that was noted last counts. Whoever puts an object back later has held it
 * until then, so its address was not used again. */
struct tool {
    struct tool *next;
    const PyObject *object; /* never dereferenced */
    Py_tracefunc function;
};

/* A frame whose own trace function has set f_trace_lines = False. */
struct muted {
    struct muted *next;
    const PyFrameObject *frame; /* never dereferenced */
};

/* What is kept of the place. It is one for the process, as the interpreter's audit hooks are. */
static struct {
    struct clp_recorder *recorder; /* borrowed */
    struct clp_place_owner owner;
    int users;   /* calls of clp_place_open less those of clp_place_close */
    bool audits; /* our audit hook is set, or was refused */
    Py_tracefunc settrace_function; /* the C function that sys.settrace sets; NULL: not known yet */
    struct tool *tools;
    struct muted *muted;
} place;

/* ---- the other trace function ---- */

static Py_tracefunc function_of(const PyObject *object)
{
    const struct tool *tool = place.tools;

    while (tool != NULL && tool->object != object)
        tool = tool->next;
    return tool != NULL ? tool->function : place.settrace_function;
}

static void forget_tool(const PyObject *object)
{
    struct tool **link = &place.tools;

    while (*link != NULL && (*link)->object != object)
        link = &(*link)->next;
    if (*link == NULL)
        return;
    struct tool *tool = *link;
    *link = tool->next;
    clp_mem_free(&place.recorder->mem, tool, 1, sizeof *tool);
}

static bool note_tool(const PyObject *object, Py_tracefunc function)
{
    forget_tool(object);
    if (function == place.settrace_function)
        return true;
    struct tool *tool = clp_mem_alloc(&place.recorder->mem, 1, sizeof *tool);
    if (tool == NULL)
        return false;
    *tool = (struct tool){place.tools, object, function};
    place.tools = tool;
    return true;
}

/* ---- taking and leaving ---- */

#if !CLP_SETS_TRACE_FOR_ALL

/* Sets the trace function of any thread. Unlike PyEval_SetTrace this is no event of sys.audit. */
static void set_trace(PyThreadState *state, Py_tracefunc function)
{
    bool traced = function != NULL || state->c_profilefunc != NULL;

    state->c_tracefunc = function;
    if (CLP_HAS_FRAME_HOOK || state->tracing == 0)
        state->cframe->use_tracing = traced ? 255 : 0;
}

#else

/* Sets the trace function of the running thread. Does nothing for any other thread. */
static void set_trace(PyThreadState *state, Py_tracefunc function)
{
    if (state != PyThreadState_Get())
        return;
    struct clp_raised raised = clp_raised_take();
    PyEval_SetTrace(function, NULL);
    clp_raised_give(raised);
}

#endif

/* Exchanges only the function where somebody traces already: for the interpreter nothing changes. False, and
 * the recorder is displaced, when that is not possible. */
static bool share(PyThreadState *state)
{
    if (state->c_traceobj == NULL || !note_tool(state->c_traceobj, state->c_tracefunc)) {
        place.recorder->displaced = true;
        return false;
    }
    state->c_tracefunc = place.owner.event;
    return true;
}

bool clp_place_take(PyThreadState *state)
{
    if (state->c_tracefunc == place.owner.event)
        return true;
    if (state->c_tracefunc != NULL)
        return share(state);
    set_trace(state, place.owner.event);
    return true;
}

void clp_place_leave(PyThreadState *state)
{
    if (state->c_tracefunc != place.owner.event)
        return;
    if (clp_place_is_shared(state))
        state->c_tracefunc = function_of(state->c_traceobj);
    else
        set_trace(state, NULL);
}

static bool is_wanted(const PyThreadState *state);

void clp_place_leave_all(void)
{
    PyThreadState *state = PyInterpreterState_ThreadHead(PyInterpreterState_Get());

    for (; state != NULL; state = PyThreadState_Next(state)) {
        if (!is_wanted(state))
            clp_place_leave(state);
    }
}

#if CLP_SETS_TRACE_FOR_ALL

/* Calls `visit` for each thread of the interpreter. */
static void for_all(void (*visit)(PyThreadState *state, PyObject *objects), PyObject *objects)
{
    PyThreadState *state = PyInterpreterState_ThreadHead(PyInterpreterState_Get());

    for (; state != NULL; state = PyThreadState_Next(state))
        visit(state, objects);
}

static void put_aside(PyThreadState *state, PyObject *objects)
{
    PyObject *id = PyLong_FromUnsignedLongLong(state->id);

    if (state->c_tracefunc != NULL && clp_place_take(state) && id != NULL &&
        state->c_traceobj != NULL)
        (void)PyDict_SetItem(objects, id, state->c_traceobj);
    Py_XDECREF(id);
    PyErr_Clear();
}

static void put_back(PyThreadState *state, PyObject *objects)
{
    PyObject *id = PyLong_FromUnsignedLongLong(state->id);
    PyObject *object = id != NULL ? PyDict_GetItemWithError(objects, id) : NULL; /* borrowed */

    if (object != NULL && state->c_tracefunc == place.owner.event && state->c_traceobj == NULL)
        state->c_traceobj = Py_NewRef(object);
    Py_XDECREF(id);
    PyErr_Clear();
}

/* PyEval_SetTraceAllThreads replaces the objects of all threads, too. So those of other trace functions are
 * put aside first, and put back afterwards. */
void clp_place_take_all(void)
{
    PyObject *objects = PyDict_New();

    if (objects == NULL) {
        PyErr_Clear();
        (void)clp_place_take(PyThreadState_Get());
        return;
    }
    for_all(put_aside, objects);
    PyEval_SetTraceAllThreads(place.owner.event, NULL);
    for_all(put_back, objects);
    Py_DECREF(objects);
}

#else

void clp_place_take_all(void)
{
    PyThreadState *state = PyInterpreterState_ThreadHead(PyInterpreterState_Get());

    for (; state != NULL; state = PyThreadState_Next(state))
        (void)clp_place_take(state);
}

#endif

/* ---- sys.settrace ---- */

/* Are the events of this thread wanted? */
static bool is_wanted(const PyThreadState *state)
{
    return place.users > 0 && state->interp == PyInterpreterState_Main() &&
           place.owner.wants(place.recorder, state);
}

/* Takes the thread's place again, if the events of this thread are wanted. */
static void retake_if_wanted(PyThreadState *state)
{
    if (!is_wanted(state))
        return;
    (void)clp_place_take(state);
    place.owner.settle(state);
}

/* Leaves us alone in the place, because the program has removed its own trace function. */
static PyObject *empty_place(PyThreadState *state)
{
    if (PySys_Audit("sys.settrace", NULL) < 0)
        return NULL;
    Py_CLEAR(state->c_traceobj);
    place.owner.settle(state);
    Py_RETURN_NONE;
}

static PyObject *settrace(PyObject *module, PyObject *function);
#if CLP_SETS_TRACE_FOR_ALL
static PyObject *settrace_all(PyObject *module, PyObject *function);
#endif

static struct clp_exchange entries[] = {
    {"settrace", METH_O, settrace, NULL, NULL},
#if CLP_SETS_TRACE_FOR_ALL
    {"_settraceallthreads", METH_O, settrace_all, NULL, NULL},
#endif
};

static PyObject *settrace(PyObject *module, PyObject *function)
{
    PyThreadState *state = PyThreadState_Get();

    if (function == Py_None && state->c_tracefunc == place.owner.event && is_wanted(state))
        return empty_place(state);
    PyObject *result = entries[0].theirs(module, function);
    if (result == NULL || !is_wanted(state))
        return result;
    if (function != Py_None && state->c_tracefunc != place.owner.event)
        place.settrace_function = state->c_tracefunc;
    retake_if_wanted(state);
    return result;
}

#if CLP_SETS_TRACE_FOR_ALL
static PyObject *settrace_all(PyObject *module, PyObject *function)
{
    PyObject *result = entries[1].theirs(module, function);

    if (result != NULL && is_wanted(PyThreadState_Get()))
        clp_place_take_all();
    return result;
}
#endif

/* ---- PyEval_SetTrace ---- */

#if CLP_HAS_FRAME_HOOK

static void watch_audits(void)
{
    /* settrace.c takes the place again in the hook that runs frames */
}

#else

static int retake(void *nothing)
{
    (void)nothing;
    retake_if_wanted(PyThreadState_Get());
    return 0;
}

/* The audit event comes before PyEval_SetTrace sets the function. So a pending call takes the place again,
 * when the caller continues. */
static int on_audit(const char *event, PyObject *arguments, void *nothing)
{
    (void)arguments, (void)nothing;
    if (place.users > 0 && strcmp(event, "sys.settrace") == 0)
        (void)Py_AddPendingCall(retake, NULL);
    return 0;
}

/* Sets an audit hook, which stays until the process ends. */
static void watch_audits(void)
{
    if (!place.audits && PySys_AddAuditHook(on_audit, NULL) != 0)
        PyErr_Clear(); /* the program's own hooks may refuse it */
    place.audits = true;
}

#endif

void clp_place_open(struct clp_recorder *recorder, const struct clp_place_owner *owner)
{
    place.recorder = recorder;
    place.owner = *owner;
    if (place.users++ > 0)
        return;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        clp_exchange_put(&entries[i], PySys_GetObject(entries[i].name));
    watch_audits();
}

void clp_place_close(void)
{
    if (--place.users > 0)
        return;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        clp_exchange_undo(&entries[i]);
}

/* ---- events for the other trace function ---- */

static struct muted **find_muted(const PyFrameObject *frame)
{
    struct muted **link = &place.muted;

    while (*link != NULL && (*link)->frame != frame)
        link = &(*link)->next;
    return link;
}

static void set_muted(const PyFrameObject *frame, bool mute)
{
    struct muted **link = find_muted(frame), *muted = *link;

    if ((muted != NULL) == mute)
        return;
    if (mute && (muted = clp_mem_alloc(&place.recorder->mem, 1, sizeof *muted)) != NULL) {
        *muted = (struct muted){place.muted, frame};
        place.muted = muted;
    } else if (!mute) {
        *link = muted->next;
        clp_mem_free(&place.recorder->mem, muted, 1, sizeof *muted);
    }
}

bool clp_place_mutes(void)
{
    return place.muted != NULL;
}

void clp_place_forget(const PyFrameObject *frame)
{
    set_muted(frame, false);
}

/* Does the frame's own trace function want lines? No exception is set, before and afterwards. */
static bool wants_lines(PyFrameObject *frame)
{
#if CLP_HAS_FRAME_HOOK
    return frame->f_trace_lines;
#else
    PyObject *wants = PyObject_GetAttrString((PyObject *)frame, "f_trace_lines");
    bool found = wants != Py_False;

    Py_XDECREF(wants);
    PyErr_Clear();
    return found;
#endif
}

static void let_lines(PyFrameObject *frame, bool come)
{
#if CLP_HAS_FRAME_HOOK
    frame->f_trace_lines = come;
#else
    if (PyObject_SetAttrString((PyObject *)frame, "f_trace_lines", come ? Py_True : Py_False) != 0)
        PyErr_Clear();
#endif
}

/* Notes what the frame's trace function has left in f_trace_lines, to be shown to it at its next event. Then
 * switches line events on again, because our lines need them. */
static void note_f_trace_lines(PyFrameObject *frame)
{
    struct clp_raised raised = clp_raised_take();
    bool muted = !wants_lines(frame);

    set_muted(frame, muted);
    if (muted)
        let_lines(frame, true);
    clp_raised_give(raised);
}

/* Passes an event of a counted frame on. While the other trace function runs, f_trace_lines is as that
 * function has set it. */
static int pass_counted(Py_tracefunc function, PyObject *object, const struct clp_place_event *event)
{
    if (event->begins)
        set_muted(event->frame, false); /* an earlier frame at this address may have been muted */
    bool muted = *find_muted(event->frame) != NULL;
    if (muted && event->what == PyTrace_LINE)
        return 0;
    if (muted)
        let_lines(event->frame, false);
    int outcome = function(object, event->frame, event->what, event->argument);
    note_f_trace_lines(event->frame);
    return outcome;
}

int clp_place_pass(PyObject *object, const struct clp_place_event *event)
{
    PyThreadState *state = PyThreadState_Get();
    Py_tracefunc function = function_of(object);
    int outcome = event->counted
                      ? pass_counted(function, object, event)
                      : function(object, event->frame, event->what, event->argument);

    if (state->c_tracefunc != place.owner.event)
        retake_if_wanted(state);
    return outcome;
}
