/* SPDX-License-Identifier: MIT */
/* The monitoring tracer: sys.monitoring (PEP 669), CPython 3.12 and newer.
 *
 * Selected code objects get local events, so nothing else in the program is slowed. Exceptions that leave a body
 * (PY_UNWIND) or are thrown into one (PY_THROW) exist as global events only. They are looked up by code.
 *
 * LINE serves functions whose lines the interpreter finds quickly. In other functions INSTRUCTION events take its
 * place. Each is switched off where no line can begin, which leaves one per line, at a cost that does not grow with
 * the function. The tracer then decides as the interpreter does whether a line begins: it does when the line differs
 * from that of the last instruction. Beside a tool that watches lines, LINE serves all functions.
 *
 * PY_START begins no line, but makes LINE fire for bodies on the def line (3.13). */
#include "monitoring.h"
#include "cpython/compat/exchange.h"
#include "cpython/compat/raised.h"
#include "cpython/recorder/recorder.h"
#include "cpython/recorder/stays.h"
#include "cpython/compat/sysmon.h"

#if CLP_HAS_MONITORING

#include <structmember.h>

/* A callable whose call goes directly to a C function, without building any object. It was measured to be 4 ns
 * per event quicker than a built-in function. */
struct callback {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    struct clp_recorder *recorder; /* borrowed; outlives every event */
};

struct state {
    int tool;
    PyObject *monitoring;    /* owned: sys.monitoring */
    PyObject *disable;       /* owned: sys.monitoring.DISABLE, which a callback returns to switch off events at that
                              * place */
    PyTypeObject *type;      /* owned: the type of the callbacks */
    long lines, instructions; /* sets of local events, for code that LINE serves and for code that INSTRUCTION serves */
    bool beside;             /* another tool may watch lines, so only the set `lines` is used */
    long exits;              /* the set of local events for code that nobody counts, while it still runs */
    long global;             /* the set of global events */
    long handled;            /* the event that joins `global` with the first function that needs it */
};

#define RECORDER(callable) (((struct callback *)(callable))->recorder)

/* ---- the events ---- */

static bool on_top(const struct clp_thread *thread, const void *frame)
{
    return CLP_LIKELY(thread->top->frame == frame);
}

/* Makes sure that the running body, which has this code, is on top. False: the event is of no recorded body. */
static bool align(struct clp_recorder *recorder, struct clp_thread *thread, PyObject *code)
{
    const void *frame = clp_compat_running_frame(PyThreadState_Get());
    const struct clp_selected *selected = clp_recorder_traced(recorder, code);

    return selected != NULL && !clp_recorder_is_outside(recorder) && clp_recorder_counts(selected) &&
           clp_recorder_align(selected, thread, frame);
}

/* The thread with the running body, which has this code, on top; NULL: the event is of no recorded body.
 * Entries and exits keep the stack right. So a line only needs to know that the code on top is this one, which
 * is found out more quickly than the frame. */
static struct clp_thread *thread_in(struct clp_recorder *recorder, PyObject *code)
{
    struct clp_thread *thread = clp_recorder_thread(recorder);

    if (CLP_LIKELY(thread != NULL && thread->top->code == (uintptr_t)code))
        return thread;
    return thread != NULL && align(recorder, thread, code) ? thread : NULL;
}

/* Does the event only repeat a line that is running already? `late`: the body was found running, so its line is
 * not known. */
static bool only_repeats(const struct clp_recorder *recorder, const struct clp_thread *thread,
                         PyObject *code, int line, bool late)
{
    int32_t runs = clp_engine_current_line(thread);

    if (!CLP_LINE_EVENTS_REPEAT || CLP_LIKELY(runs != line && !(late && runs < 0)))
        return false;
    return clp_code_lines_repeats_at(&clp_recorder_traced(recorder, code)->shape,
                                     clp_compat_frame_offset(PyEval_GetFrame()), line,
                                     thread->top->before);
}

/* The line that begins. A trace function is told before monitoring is, and may have made the frame continue at
 * another line. It may have removed itself then, so thread->traced tells of the event before. */
static int line_told(struct clp_thread *thread, PyObject *told)
{
    bool traced = PyThreadState_Get()->c_tracefunc != NULL;

    if (CLP_LIKELY(!traced && !thread->traced))
        return clp_compat_small_int(told);
    thread->traced = traced;
    return PyFrame_GetLineNumber(PyEval_GetFrame());
}

/* The function's line for a line of this code. */
static int line_of(const struct clp_recorder *recorder, PyObject *code, int line)
{
    const struct clp_selected *selected = clp_recorder_selected(recorder, code);

    return selected != NULL ? line - selected->moved : line;
}

static PyObject *on_line(PyObject *callable, PyObject *const *args, size_t nargs, PyObject *names)
{
    struct clp_recorder *recorder = RECORDER(callable);
    bool late = clp_thread_here == NULL || clp_thread_here->top->code != (uintptr_t)args[0];
    struct clp_thread *thread = thread_in(recorder, args[0]);

    (void)nargs, (void)names;
    if (CLP_LIKELY(thread != NULL)) {
        int line = line_told(thread, args[1]);
        if (CLP_UNLIKELY(late))
            line = line_of(recorder, args[0], line);
        if (!only_repeats(recorder, thread, args[0], line, late))
            clp_recorder_told_line(recorder, thread, line);
    }
    clp_blocks_lower(recorder, thread);
    Py_RETURN_NONE;
}

static bool line_begins(const struct clp_thread *thread, int32_t line)
{
    int32_t before = thread->top->before;

    return line != (before != 0 ? before : clp_engine_current_line(thread));
}

static PyObject *on_instruction(PyObject *callable, PyObject *const *args, size_t nargs,
                                PyObject *names)
{
    struct clp_recorder *recorder = RECORDER(callable);
    const struct clp_selected *selected = clp_recorder_traced(recorder, args[0]);
    size_t unit = (size_t)clp_compat_small_int(args[1]) / 2;

    (void)nargs, (void)names;
    if (CLP_UNLIKELY(selected == NULL || selected->shape.starts == NULL))
        Py_RETURN_NONE;
    int32_t line = unit < selected->shape.unit_count ? selected->shape.starts[unit] : 0;
    if (line == 0)
        return Py_NewRef(((struct state *)recorder->monitoring_state)->disable);
    struct clp_thread *thread = thread_in(recorder, args[0]);
    if (thread == NULL)
        Py_RETURN_NONE;
    if (line != CLP_NO_LINE && line_begins(thread, line))
        clp_recorder_told_line(recorder, thread, line);
    thread->top->before = line;
    clp_blocks_lower(recorder, thread);
    Py_RETURN_NONE;
}

static PyObject *on_start(PyObject *callable, PyObject *const *args, size_t nargs,
                          PyObject *names)
{
    struct clp_recorder *recorder = RECORDER(callable);
    const struct clp_selected *selected = clp_recorder_traced(recorder, args[0]);
    struct clp_thread *thread = clp_recorder_thread(recorder);

    (void)nargs, (void)names;
    if (thread != NULL)
        thread->traced |= PyThreadState_Get()->c_tracefunc != NULL;
    if (selected != NULL && thread != NULL && clp_recorder_counts(selected))
        clp_recorder_enter(selected, thread, clp_compat_running_frame(PyThreadState_Get()));
    Py_RETURN_NONE;
}

/* Resumes the body that has this code. Returns its thread, or NULL if it is not recorded. */
static struct clp_thread *resume(struct clp_recorder *recorder, PyObject *code)
{
    const struct clp_selected *selected = clp_recorder_traced(recorder, code);
    struct clp_thread *thread = NULL;

    if (selected != NULL && clp_recorder_counts(selected))
        thread = clp_recorder_thread(recorder);
    if (thread != NULL)
        clp_recorder_resume(selected, thread, clp_compat_running_frame(PyThreadState_Get()));
    return thread;
}

static PyObject *on_resume(PyObject *callable, PyObject *const *args, size_t nargs,
                           PyObject *names)
{
    (void)nargs, (void)names;
    (void)resume(RECORDER(callable), args[0]);
    Py_RETURN_NONE;
}

/* PY_THROW: a body resumes with an exception. For LINE the handler then begins a line, even if it is the same
 * line. */
static PyObject *on_throw(PyObject *callable, PyObject *const *args, size_t nargs,
                          PyObject *names)
{
    struct clp_thread *thread = resume(RECORDER(callable), args[0]);

    (void)nargs, (void)names;
    if (thread != NULL)
        thread->top->before = CLP_NO_LINE;
    Py_RETURN_NONE;
}

/* The new value of `before` when an exception finds its handler: the line on which it was raised. An exception
 * that was just thrown into the body makes its handler begin a line, whichever it is; when it is raised again,
 * it does not. */
static int32_t line_before(const struct clp_code_lines *lines, int32_t before, PyFrameObject *frame)
{
    if (before == CLP_NO_LINE && clp_code_lines_thrown_into(lines, frame))
        return 0;
    return clp_code_lines_line_raised(frame);
}

/* EXCEPTION_HANDLED: an exception has found its handler. The frame still stands where the exception was raised,
 * or, if it was raised again, where it was raised first. The interpreter takes the instruction there for the
 * one executed before. */
static PyObject *on_handled(PyObject *callable, PyObject *const *args, size_t nargs,
                            PyObject *names)
{
    const struct clp_selected *selected = clp_recorder_traced(RECORDER(callable), args[0]);
    struct clp_thread *thread = clp_thread_here;

    (void)nargs, (void)names;
    if (selected != NULL && selected->shape.asks_places && thread != NULL &&
        on_top(thread, clp_compat_running_frame(PyThreadState_Get())))
        thread->top->before =
            line_before(&selected->shape, thread->top->before, PyEval_GetFrame());
    Py_RETURN_NONE;
}

/* Does the body on top run this code? If not, the event is the exit of a body without a frame (Cython), which this body
 * has called. */
static bool runs_code(const struct clp_recorder *recorder, const struct clp_thread *thread, PyObject *code)
{
    return CLP_LIKELY(thread->top->code == (uintptr_t)code) || clp_recorder_traced(recorder, code) != NULL;
}

/* The thread with the running body on top, if the body is recorded; else NULL. */
static struct clp_thread *thread_leaving(struct clp_recorder *recorder, PyObject *code)
{
    struct clp_thread *thread = clp_thread_here;
    const void *frame = clp_compat_running_frame(PyThreadState_Get());

    if (thread == NULL || on_top(thread, frame))
        return thread != NULL && runs_code(recorder, thread, code) ? thread : NULL;
    if (clp_recorder_traced(recorder, code) == NULL || !clp_engine_is_running(thread, frame))
        return NULL;
    return align(recorder, thread, code) ? thread : NULL;
}

/* PY_RETURN and PY_UNWIND: a body is left, by itself or by an exception. */
static PyObject *on_leave(PyObject *callable, PyObject *const *args, size_t nargs,
                          PyObject *names)
{
    struct clp_thread *thread = thread_leaving(RECORDER(callable), args[0]);

    (void)nargs, (void)names;
    if (thread != NULL)
        clp_recorder_leave(thread);
    Py_RETURN_NONE;
}

static PyObject *on_yield(PyObject *callable, PyObject *const *args, size_t nargs,
                          PyObject *names)
{
    struct clp_thread *thread = thread_leaving(RECORDER(callable), args[0]);

    (void)nargs, (void)names;
    if (thread != NULL)
        clp_recorder_suspend(thread);
    Py_RETURN_NONE;
}

/* ---- setting up ---- */

static const struct {
    const char *event;
    vectorcallfunc call;
    bool global;
} handlers[] = {
    {"LINE", on_line, false},     {"INSTRUCTION", on_instruction, false},
    {"PY_START", on_start, false}, {"PY_RESUME", on_resume, false},
    {"PY_RETURN", on_leave, false}, {"PY_YIELD", on_yield, false},
    {"PY_THROW", on_throw, true}, {"PY_UNWIND", on_leave, true},
    {"EXCEPTION_HANDLED", on_handled, true}, /* switched on once code is selected that needs it */
};

#define HANDLER_COUNT (sizeof handlers / sizeof *handlers)

static void callback_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef callback_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct callback, vectorcall), READONLY, NULL},
    {0},
};

static PyType_Slot callback_slots[] = {
    {Py_tp_dealloc, callback_free},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, callback_members},
    {0, NULL},
};

static PyType_Spec callback_spec = {
    .name = "clineprof._core.Callback",
    .basicsize = sizeof(struct callback),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = callback_slots,
};

/* The ids to try, the best first. cProfile takes id 2, debuggers 0, coverage 1 and optimisers 5, so those come
 * last. */
static const int tool_ids[] = {4, 3, 5, 2, 1, 0, -1};

static void add_local(struct state *state, vectorcallfunc call, long bit)
{
    if (call != on_instruction)
        state->lines |= bit;
    if (call != on_line)
        state->instructions |= bit;
    if (call == on_leave || call == on_yield)
        state->exits |= bit;
}

static bool register_handlers(struct state *state, struct clp_recorder *recorder)
{
    for (size_t i = 0; i < HANDLER_COUNT; i++) {
        long bit = clp_sysmon_event(handlers[i].event);
        struct callback *callback = bit < 0 ? NULL : PyObject_New(struct callback, state->type);
        if (callback == NULL)
            return false;
        callback->vectorcall = handlers[i].call;
        callback->recorder = recorder;
        if (!clp_sysmon_call("register_callback", "(ilN)", state->tool, bit, callback))
            return false;
        if (handlers[i].call == on_handled)
            state->handled = bit;
        else if (handlers[i].global)
            state->global |= bit;
        else
            add_local(state, handlers[i].call, bit);
    }
    return clp_sysmon_call("set_events", "(il)", state->tool, state->global);
}

static bool watch_handlers(struct state *state)
{
    if ((state->global & state->handled) != 0)
        return true;
    state->global |= state->handled;
    return clp_sysmon_call("set_events", "(il)", state->tool, state->global);
}

/* ---- functions of many lines ----
 *
 * The versions that need INSTRUCTION events for such functions, 3.12 and 3.13, lose such events in two cases:
 *
 * - When a second tool watches a code object, they make room to tell the tools apart, and forget which tool
 *   has the INSTRUCTION events that are on. So the room is made before these events are on.
 * - When a tool answers DISABLE to the LINE event of an instruction, the INSTRUCTION event behind it is left
 *   out once. So none are used once another tool has a callback for LINE. */

static bool set_local_events(int tool, PyCodeObject *code, long events)
{
    return clp_sysmon_call("set_local_events", "(iOl)", tool, code, events);
}

/* Switches INSTRUCTION events on. False when that is not possible, because no second tool id is free. */
static bool watch_instructions(const struct state *state, PyCodeObject *code)
{
    int second = clp_sysmon_take(tool_ids);
    bool done = second >= 0 && set_local_events(second, code, state->exits) &&
                set_local_events(state->tool, code, state->instructions) &&
                set_local_events(second, code, 0);

    PyErr_Clear();
    if (second >= 0 && !clp_sysmon_call("free_tool_id", "(i)", second))
        PyErr_Clear();
    return done;
}

static void give_way_in(const struct state *state, const struct clp_site *site)
{
    for (const struct clp_selected *at = site->codes; at != NULL; at = at->next)
        if (at->on && at->shape.starts != NULL &&
            !set_local_events(state->tool, (PyCodeObject *)at->code, state->lines))
            PyErr_Clear();
}

/* Gives LINE events to code that has INSTRUCTION events, because another tool watches lines. */
static void give_way(const struct clp_recorder *recorder)
{
    struct state *state = recorder->monitoring_state;

    state->beside = true;
    for (size_t i = 0; i < recorder->site_room; i++)
        if (recorder->sites[i] != NULL)
            give_way_in(state, recorder->sites[i]);
}

void clp_monitoring_give_way(const struct clp_recorder *recorder)
{
    if (recorder->monitoring_state != NULL)
        give_way(recorder);
}

static PyObject *register_callback(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

/* The exchange of sys.monitoring.register_callback, which all tools call. */
static struct clp_exchange registering = {"register_callback", METH_FASTCALL,
                                          CLP_C_FUNCTION(register_callback), NULL, NULL};
static const struct clp_recorder *listening; /* borrowed: the recorder that must give way; NULL: none */

typedef PyObject *registers(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

static PyObject *register_callback(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    PyObject *before = ((registers *)(void (*)(void))registering.theirs)(module, arguments, count);

    if (before == NULL || listening == NULL || !clp_compat_is_main())
        return before;
    if (arguments[2] != Py_None && PyLong_AsLong(arguments[1]) == clp_sysmon_event("LINE") &&
        clp_sysmon_is_foreign((int)PyLong_AsLong(arguments[0])))
        give_way(listening);
    PyErr_Clear();
    return before;
}

/* Watches for other tools. Nobody tells which callbacks a tool has that was there before: it may have one for
 * LINE. */
static void look_beside(struct clp_recorder *recorder)
{
    struct state *state = recorder->monitoring_state;
    PyObject *function = PyObject_GetAttrString(state->monitoring, registering.name);

    state->beside = recorder->cython.monitored;
    for (int tool = 0; tool < CLP_TOOL_IDS; tool++)
        state->beside |= clp_sysmon_is_foreign(tool);
    clp_exchange_put(&registering, function);
    listening = recorder;
    Py_XDECREF(function);
    PyErr_Clear();
}

static void look_away(void)
{
    listening = NULL;
    clp_exchange_undo(&registering);
}

/* ---- starting and stopping ---- */

static void free_state(struct clp_recorder *recorder)
{
    struct state *state = recorder->monitoring_state;

    Py_XDECREF(state->monitoring);
    Py_XDECREF(state->disable);
    Py_XDECREF(state->type);
    clp_mem_free(&recorder->mem, state, 1, sizeof *state);
    recorder->monitoring_state = NULL;
}

/* Removes the callbacks. Freeing the id alone would leave them in place on 3.12 and 3.13. */
static bool unregister_handlers(const struct state *state)
{
    bool done = true;

    for (size_t i = 0; i < HANDLER_COUNT && done; i++)
        done = clp_sysmon_call("register_callback", "(ilO)", state->tool,
                               clp_sysmon_event(handlers[i].event), Py_None);
    return done;
}

static void stop(struct clp_recorder *recorder)
{
    struct state *state = recorder->monitoring_state;

    look_away();
    struct clp_raised raised = clp_raised_take();
    if (!clp_sysmon_call("set_events", "(ii)", state->tool, 0) || !unregister_handlers(state) ||
        !clp_sysmon_call("free_tool_id", "(i)", state->tool))
        PyErr_Clear();
    clp_raised_give(raised);
    free_state(recorder);
}

static bool start(struct clp_recorder *recorder)
{
    struct state *state = clp_mem_alloc(&recorder->mem, 1, sizeof *state);

    if (state == NULL) {
        PyErr_NoMemory();
        return false;
    }
    recorder->monitoring_state = state;
    state->monitoring = Py_XNewRef(PySys_GetObject("monitoring"));
    if (state->monitoring != NULL)
        state->disable = PyObject_GetAttrString(state->monitoring, "DISABLE");
    if (state->disable != NULL)
        state->type = (PyTypeObject *)PyType_FromSpec(&callback_spec);
    if (state->type == NULL || (state->tool = clp_sysmon_take(tool_ids)) < 0) {
        free_state(recorder);
        return false;
    }
    if (!register_handlers(state, recorder)) {
        stop(recorder);
        return false;
    }
    if (CLP_LINE_EVENTS_SCAN)
        look_beside(recorder);
    return true;
}

/* ---- code ---- */

/* The local events of a tool, a new reference. NULL when nobody has the id, or with an exception set. */
static PyObject *local_events(PyObject *monitoring, int tool, PyObject *code)
{
    PyObject *name = PyObject_CallMethod(monitoring, "get_tool", "i", tool);
    PyObject *events = NULL;

    if (name != NULL && name != Py_None)
        events = PyObject_CallMethod(monitoring, "get_local_events", "iO", tool, code);
    Py_XDECREF(name);
    return events;
}

/* Does another tool watch instructions of the code? */
static bool has_watched_instructions(const struct state *state, PyObject *code)
{
    long wanted = state->instructions & ~state->lines;
    bool found = false;

    for (int tool = 0; tool < CLP_TOOL_IDS && !found; tool++) {
        if (!clp_sysmon_is_foreign(tool))
            continue;
        PyObject *local = local_events(state->monitoring, tool, code);
        PyObject *global = PyObject_CallMethod(state->monitoring, "get_events", "i", tool);
        found = local != NULL && global != NULL &&
                ((PyLong_AsLong(local) | PyLong_AsLong(global)) & wanted) != 0;
        Py_XDECREF(local);
        Py_XDECREF(global);
    }
    PyErr_Clear();
    return found;
}

/* Brings back the INSTRUCTION events of another tool. When room was made for our events, the interpreter has
 * forgotten which tool has them (see "functions of many lines"); this is so on all versions. */
static bool restore_others(const struct state *state, PyObject *code)
{
    return !has_watched_instructions(state, code) ||
           clp_sysmon_call("restart_events", "()");
}

static enum clp_selection select_code(struct clp_recorder *recorder, PyCodeObject *code,
                                      struct clp_selected *selected, const char **reason)
{
    struct state *state = recorder->monitoring_state;
    bool many = selected->shape.starts != NULL && !state->beside;

    (void)reason;
    if (CLP_LINE_EVENTS_REPEAT && selected->shape.asks_places && !watch_handlers(state))
        return CLP_SELECTION_FAILED;
    bool done = ((many && watch_instructions(state, code)) ||
                 set_local_events(state->tool, code, state->lines)) &&
                restore_others(state, (PyObject *)code);
    return done ? CLP_SELECTION_DONE : CLP_SELECTION_FAILED;
}

static bool deselect(struct clp_recorder *recorder, PyObject *code, bool runs)
{
    const struct state *state = recorder->monitoring_state;

    return set_local_events(state->tool, (PyCodeObject *)code, runs ? state->exits : 0);
}

/* ---- beside other tools ---- */

bool clp_monitoring_carry(const struct clp_recorder *recorder, PyObject *from, PyObject *to)
{
    const struct state *state = recorder->monitoring_state;
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */

    for (int tool = 0; monitoring != NULL && tool < CLP_TOOL_IDS && !PyErr_Occurred(); tool++) {
        if (state != NULL && state->tool == tool)
            continue;
        PyObject *events = local_events(monitoring, tool, from);
        if (events != NULL && PyObject_IsTrue(events) == 1)
            Py_XDECREF(PyObject_CallMethod(monitoring, "set_local_events", "iOO", tool, to, events));
        Py_XDECREF(events);
    }
    return !PyErr_Occurred();
}

const struct clp_tracer clp_tracer_monitoring = {
    .name = "monitoring",
    .start = start,
    .stop = stop,
    .select = select_code,
    .deselect = deselect,
};

#endif
