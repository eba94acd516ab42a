/* SPDX-License-Identifier: MIT */
/* The probe tracer: CPython 3.11 and newer.
 *
 * A selected function gets a copy of its code object in which probes stand (src/core/rewrite.h shows
 * where). A probe is a constant of that code: an object whose negative is None, and taking it is the
 * event. It knows its function and its line, so nothing is searched or hashed; the thread's state is
 * one pointer of thread-local storage. Nothing else in the program is touched.
 *
 * The thread's stack of activations is kept by the probes themselves. Where one finds another
 * function on top than its own (a return was lost because another tool's hook raised in it), the
 * stack is aligned by the frame's identity. */
#include "probe.h"
#include "monitoring.h"
#include "offering.h"
#include "recorder.h"
#include "statements.h"
#include "stays.h"

#if CLP_HAS_PROBES

#include "../core/rewrite.h"

struct probe {
    PyObject_HEAD
    struct clp_selected *selected; /* holds it */
    int32_t line;
    size_t place; /* of the line's cell in the function's block */
};

struct state {
    PyTypeObject *types[CLP_PROBE_KINDS]; /* owned */
};

static const struct clp_selected *selected_of(PyObject *probe)
{
    return ((struct probe *)probe)->selected;
}

/* ---- the events ----
 *
 * Each comes in two forms, for the processor's counter and for the system's clock, so that an event
 * does not have to ask which. What is rare is kept out of line: then the rest needs no stack. */

#define RARE __attribute__((noinline, cold))
#define INLINE inline __attribute__((always_inline))

static INLINE uint64_t read_clock(bool counter)
{
    return counter ? clp_clock_counter() : clp_clock_monotonic();
}

/* Bodies that are never suspended need no identity: their probes tell of every exit. */
static INLINE const void *frame_of(const struct clp_selected *selected)
{
    return selected->suspends ? clp_compat_running_frame(PyThreadState_Get()) : NULL;
}

/* The calling thread; NULL when nobody counts the function, or there is no memory. */
static INLINE struct clp_thread *recording_thread(const struct clp_selected *selected)
{
    return CLP_LIKELY(clp_recorder_counts(selected)) ? clp_recorder_thread(selected->recorder)
                                                     : NULL;
}

static INLINE bool on_top(const struct clp_thread *thread, const struct clp_selected *selected)
{
    return CLP_LIKELY(thread != NULL && thread->top->code == selected->identity);
}

/* The thread with a body of the selected code on top, after another one was found there; or NULL. */
RARE static struct clp_thread *aligned(const struct clp_selected *selected)
{
    struct clp_thread *thread = recording_thread(selected);

    return thread != NULL && clp_recorder_align(selected, thread, frame_of(selected)) ? thread
                                                                                       : NULL;
}

RARE static PyObject *line_elsewhere(const struct probe *probe)
{
    struct clp_thread *thread = aligned(probe->selected);

    if (thread != NULL) {
        clp_recorder_line(probe->selected->recorder, thread, probe->line);
        clp_blocks_lower(probe->selected->recorder, thread);
    }
    Py_RETURN_NONE;
}

RARE static PyObject *line_with_memory(const struct probe *probe, struct clp_thread *thread)
{
    clp_recorder_line(probe->selected->recorder, thread, probe->line);
    Py_RETURN_NONE;
}

static __attribute__((noinline)) PyObject *line_special(const struct probe *probe,
                                                        struct clp_thread *thread, uint64_t at)
{
    clp_engine_line_special(thread, probe->place, at);
    Py_RETURN_NONE;
}

static INLINE PyObject *begin_line(const struct probe *probe, bool counter)
{
    struct clp_thread *thread = clp_thread_here;

    if (CLP_UNLIKELY(!on_top(thread, probe->selected)))
        return line_elsewhere(probe);
    uint64_t now = read_clock(counter);
    if (CLP_UNLIKELY(clp_engine_wants_rss(thread, now)))
        return line_with_memory(probe, thread);
    uint64_t at = now - thread->stopped;
    if (CLP_UNLIKELY(!clp_engine_line_plain(thread, probe->place, at)))
        return line_special(probe, thread, at);
    Py_RETURN_NONE;
}

/* Whatever may happen: the thread's first event, the function's first entry, memory is to be read,
 * a generator, recursion. */
static __attribute__((noinline)) PyObject *enter_anyhow(const struct probe *probe, bool with_line)
{
    const struct clp_selected *selected = probe->selected;
    struct clp_thread *thread = recording_thread(selected);

    if (thread == NULL)
        Py_RETURN_NONE;
    if (with_line)
        clp_recorder_enter_line(selected, thread, frame_of(selected), probe->line);
    else
        clp_recorder_enter(selected, thread, frame_of(selected));
    Py_RETURN_NONE;
}

static INLINE PyObject *enter_line(const struct probe *probe, bool counter)
{
    const struct clp_selected *selected = probe->selected;
    struct clp_thread *thread = clp_thread_here;

    if (CLP_UNLIKELY(thread == NULL || selected->audience->slow || !clp_recorder_counts(selected) ||
                     !clp_engine_has_block(thread, selected->function)))
        return enter_anyhow(probe, true);
    uint64_t now = read_clock(counter);
    if (CLP_UNLIKELY(clp_engine_wants_rss(thread, now) ||
                     !clp_engine_enter_plain(thread, thread->blocks[selected->function],
                                             selected->identity, probe->place,
                                             now - thread->stopped)))
        return enter_anyhow(probe, true);
    Py_RETURN_NONE;
}

static __attribute__((noinline)) PyObject *leave_anyhow(struct clp_thread *thread)
{
    clp_recorder_leave(thread);
    Py_RETURN_NONE;
}

static INLINE PyObject *leave(const struct probe *probe, bool counter)
{
    struct clp_thread *thread = clp_thread_here;

    if (CLP_UNLIKELY(!on_top(thread, probe->selected)))
        Py_RETURN_NONE;
    uint64_t now = read_clock(counter);
    if (CLP_UNLIKELY(clp_engine_wants_rss(thread, now) ||
                     !clp_engine_leave_plain(thread, now - thread->stopped)))
        return leave_anyhow(thread);
    Py_RETURN_NONE;
}

static __attribute__((noinline)) PyObject *last_line_anyhow(const struct probe *probe,
                                                            struct clp_thread *thread)
{
    clp_recorder_last_line(thread, probe->line);
    Py_RETURN_NONE;
}

static INLINE PyObject *last_line(const struct probe *probe, bool counter)
{
    struct clp_thread *thread = clp_thread_here;

    if (CLP_UNLIKELY(!on_top(thread, probe->selected))) {
        thread = aligned(probe->selected);
        return thread != NULL ? last_line_anyhow(probe, thread) : Py_NewRef(Py_None);
    }
    uint64_t now = read_clock(counter);
    if (CLP_UNLIKELY(clp_engine_wants_rss(thread, now) ||
                     !clp_engine_last_line_plain(thread, probe->place, now - thread->stopped)))
        return last_line_anyhow(probe, thread);
    Py_RETURN_NONE;
}

/* An open block of the body may be on top. */
RARE static PyObject *suspend_below(const struct probe *probe, struct clp_thread *thread)
{
    if (thread != NULL) {
        clp_blocks_lift(probe->selected->recorder, thread);
        if (on_top(thread, probe->selected))
            clp_recorder_suspend(thread);
    }
    Py_RETURN_NONE;
}

static INLINE PyObject *suspend(const struct probe *probe, bool counter)
{
    struct clp_thread *thread = clp_thread_here;

    if (CLP_UNLIKELY(!on_top(thread, probe->selected)))
        return suspend_below(probe, thread);
    uint64_t now = read_clock(counter);
    if (CLP_UNLIKELY(clp_engine_wants_rss(thread, now)))
        clp_recorder_suspend(thread);
    else
        clp_engine_suspend(thread, now);
    Py_RETURN_NONE;
}

static __attribute__((noinline)) PyObject *resume_anyhow(const struct clp_selected *selected)
{
    struct clp_thread *thread = recording_thread(selected);

    if (thread != NULL)
        clp_recorder_resume(selected, thread, frame_of(selected));
    Py_RETURN_NONE;
}

static INLINE PyObject *resume(const struct probe *probe, bool counter)
{
    const struct clp_selected *selected = probe->selected;
    struct clp_thread *thread = clp_thread_here;

    if (CLP_UNLIKELY(thread == NULL || !clp_recorder_counts(selected) ||
                     selected->recorder->blocks.stays != NULL))
        return resume_anyhow(selected);
    uint64_t now = read_clock(counter);
    if (CLP_UNLIKELY(clp_engine_wants_rss(thread, now)))
        return resume_anyhow(selected);
    const void *frame = clp_compat_running_frame(PyThreadState_Get());
    struct clp_activation *top = clp_engine_resume(thread, selected->function, frame, now);
    if (CLP_LIKELY(top != NULL))
        top->code = selected->identity;
    Py_RETURN_NONE;
}

/* From where it is that a RESUME, by its argument, goes on: the start, a yield, a `yield from` or an await. */
#define RESUME_FROM 3
#define RESUME_FROM_YIELD 1

/* The place in the running body, in bytes, of what the interpreter re-raises; -1 when it is not known.
 * It comes as a number of units, or since 3.14 as the exception itself. */
static int place_of(PyObject *raised)
{
    PyObject *traceback;
    int place = -1;

    if (PyLong_Check(raised))
        return (int)PyLong_AsLong(raised) * 2;
    traceback = PyException_GetTraceback(raised);
    if (traceback != NULL && ((PyTracebackObject *)traceback)->tb_frame == clp_compat_frame_here())
        place = ((PyTracebackObject *)traceback)->tb_lasti;
    Py_XDECREF(traceback);
    return place;
}

/* Since 3.14 an exception that was thrown in begins the line of each handler that it comes to: the place is the
 * RESUME of a yield. (What comes from a delegate is raised anew behind that.) */
static bool begins_lines(const struct clp_recorder *recorder, PyCodeObject *code, int place)
{
    PyObject *bytes = CLP_THROWN_BEGINS_AGAIN && place >= 0 ? PyCode_GetCode(code) : NULL;
    bool thrown = false;

    if (bytes != NULL && place + 1 < PyBytes_GET_SIZE(bytes)) {
        const uint8_t *unit = (const uint8_t *)PyBytes_AS_STRING(bytes) + place;
        thrown = unit[0] == recorder->bytecode.resume && (unit[1] & RESUME_FROM) == RESUME_FROM_YIELD;
    }
    Py_XDECREF(bytes);
    return thrown;
}

/* The line of that place: for the interpreter the one executed before the handler. */
static int line_of_raised(const struct clp_selected *selected, PyObject *raised)
{
    struct clp_recorder *recorder = selected->recorder;
    PyFrameObject *frame = clp_compat_frame_here(); /* borrowed */
    PyCodeObject *code = frame != NULL ? PyFrame_GetCode(frame) : NULL;
    int place = place_of(raised);

    if (code == NULL)
        return CLP_NO_LINE;
    int line = place >= 0 && !begins_lines(recorder, code, place) ? PyCode_Addr2Line(code, place)
                                                                  : CLP_NO_LINE;
    if (recorder->statements != NULL) {
        struct clp_statements statements = clp_statements_of(recorder->statements, selected->text);
        line = clp_statements_line(&statements, code->co_firstlineno, line);
    }
    PyErr_Clear();
    Py_DECREF(code);
    return line;
}

static PyObject *on_asked_line(PyObject *self, PyObject *raised)
{
    const struct probe *probe = (const struct probe *)self;
    struct clp_thread *thread = clp_thread_here;

    if (line_of_raised(probe->selected, raised) == probe->line)
        Py_RETURN_NONE;
    return on_top(thread, probe->selected) ? line_with_memory(probe, thread)
                                           : line_elsewhere(probe);
}

#define BOTH_CLOCKS(name, event)                                                  \
    static PyObject *name##_counter(PyObject *self)                               \
    {                                                                             \
        const struct probe *probe = (const struct probe *)self;                   \
        const bool counter = true;                                                \
        return event;                                                             \
    }                                                                             \
    static PyObject *name##_system(PyObject *self)                                \
    {                                                                             \
        const struct probe *probe = (const struct probe *)self;                   \
        const bool counter = false;                                               \
        return event;                                                             \
    }

BOTH_CLOCKS(on_line, begin_line(probe, counter))
BOTH_CLOCKS(on_enter_line, enter_line(probe, counter))
BOTH_CLOCKS(on_last_line, last_line(probe, counter))
BOTH_CLOCKS(on_leave, leave(probe, counter))
BOTH_CLOCKS(on_suspend, suspend(probe, counter))
BOTH_CLOCKS(on_resume, resume(probe, counter))

static PyObject *on_enter(PyObject *self)
{
    return enter_anyhow((const struct probe *)self, false);
}

/* Where a delegation has ended. Was it by throw(), then 3.11 goes on here without any resumption. */
static PyObject *on_resume_if(PyObject *self)
{
    const struct clp_selected *selected = selected_of(self);
    struct clp_thread *thread = clp_thread_here;

    if (CLP_LIKELY(thread != NULL && thread->top->frame == frame_of(selected)))
        Py_RETURN_NONE;
    return resume_anyhow(selected);
}

/* ---- the types ---- */

static void probe_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    clp_recorder_drop_selected(((struct probe *)self)->selected);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Code that is pickled by value works where there is no clineprof: its probes become zeros. */
static PyObject *probe_reduce(PyObject *self, PyObject *nothing)
{
    (void)self, (void)nothing;
    return Py_BuildValue("O()", &PyLong_Type);
}

static PyObject *probe_repr(PyObject *self)
{
    const struct clp_selected *selected = selected_of(self);

    return PyUnicode_FromFormat("<%s of function %u>", Py_TYPE(self)->tp_name, selected->function);
}

static PyMethodDef probe_methods[] = {
    {"__reduce__", probe_reduce, METH_NOARGS, "A plain 0 to whoever unpickles it."},
    {NULL, NULL, 0, NULL},
};

static const struct {
    const char *name;
    unaryfunc with_counter, with_system_clock; /* the negative; NULL: the sum with what was raised */
} kinds[CLP_PROBE_KINDS] = {
    [CLP_PROBE_ENTER] = {"clineprof._core.EnterProbe", on_enter, on_enter},
    [CLP_PROBE_ENTER_LINE] = {"clineprof._core.EnterLineProbe", on_enter_line_counter,
                              on_enter_line_system},
    [CLP_PROBE_LINE] = {"clineprof._core.LineProbe", on_line_counter, on_line_system},
    [CLP_PROBE_LAST_LINE] = {"clineprof._core.LastLineProbe", on_last_line_counter,
                             on_last_line_system},
    [CLP_PROBE_LEAVE] = {"clineprof._core.LeaveProbe", on_leave_counter, on_leave_system},
    [CLP_PROBE_SUSPEND] = {"clineprof._core.SuspendProbe", on_suspend_counter,
                           on_suspend_system},
    [CLP_PROBE_RESUME] = {"clineprof._core.ResumeProbe", on_resume_counter, on_resume_system},
    [CLP_PROBE_RESUME_IF] = {"clineprof._core.ResumeIfProbe", on_resume_if, on_resume_if},
    [CLP_PROBE_LINE_ASKED] = {"clineprof._core.AskedLineProbe", NULL, NULL},
};

static PyTypeObject *make_type(enum clp_probe_kind kind, bool counter)
{
    unaryfunc event = counter ? kinds[kind].with_counter : kinds[kind].with_system_clock;
    PyType_Slot slots[] = {
        {event != NULL ? Py_nb_negative : Py_nb_add,
         event != NULL ? (void *)event : (void *)on_asked_line},
        {Py_tp_dealloc, (void *)probe_free},
        {Py_tp_repr, (void *)probe_repr},
        {Py_tp_methods, probe_methods},
        {0, NULL},
    };
    PyType_Spec spec = {
        .name = kinds[kind].name,
        .basicsize = sizeof(struct probe),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
        .slots = slots,
    };

    return (PyTypeObject *)PyType_FromSpec(&spec);
}

static PyObject *new_probe(const struct state *state, struct clp_selected *selected,
                           struct clp_probe what)
{
    struct probe *probe = PyObject_New(struct probe, state->types[what.kind]);

    if (probe == NULL)
        return NULL;
    selected->holders++;
    probe->selected = selected;
    probe->line = what.line;
    probe->place =
        clp_block_place((uint32_t)what.line - (uint32_t)selected->shape.lowest_line);
    return (PyObject *)probe;
}

/* ---- copies of code ---- */

/* The constants of the code, selected code among them with its probes, and the probes behind them. */
static PyObject *with_probes(const struct state *state, PyCodeObject *code,
                             struct clp_selected *selected, const struct clp_rewritten *rewritten)
{
    Py_ssize_t count = PyTuple_GET_SIZE(code->co_consts);
    PyObject *constants = PyTuple_New(count + (Py_ssize_t)rewritten->probe_count);

    for (Py_ssize_t i = 0; constants != NULL && i < count; i++) {
        PyObject *item = clp_tracer_inner_code(selected->recorder, PyTuple_GET_ITEM(code->co_consts, i));
        if (item == NULL)
            Py_CLEAR(constants);
        else
            PyTuple_SET_ITEM(constants, i, item);
    }
    for (size_t i = 0; constants != NULL && i < rewritten->probe_count; i++) {
        PyObject *probe = new_probe(state, selected, rewritten->probes[i]);
        if (probe == NULL)
            Py_CLEAR(constants);
        else
            PyTuple_SET_ITEM(constants, count + (Py_ssize_t)i, probe);
    }
    return constants;
}

static PyObject *bytes_of(const struct clp_buf *buf)
{
    return PyBytes_FromStringAndSize(clp_buf_text(buf), (Py_ssize_t)buf->used);
}

static PyObject *assemble(const struct state *state, PyCodeObject *code,
                          struct clp_selected *selected, const struct clp_rewritten *rewritten)
{
    struct clp_code_parts parts = {
        .code = bytes_of(&rewritten->code),
        .constants = with_probes(state, code, selected, rewritten),
        .locations = bytes_of(&rewritten->locations),
        .exceptions = bytes_of(&rewritten->exceptions),
        .stack_size = rewritten->stack_size,
    };
    PyObject *copy = NULL;

    if (parts.code != NULL && parts.constants != NULL && parts.locations != NULL &&
        parts.exceptions != NULL)
        copy = clp_compat_copy_code(code, &parts);
    Py_XDECREF(parts.code);
    Py_XDECREF(parts.constants);
    Py_XDECREF(parts.locations);
    Py_XDECREF(parts.exceptions);
    return copy;
}

/* The selected function of a copy; the copy takes it over once it exists. Its probes may outlive it,
 * in a copy that somebody else makes, and another code object may get its address: only a body
 * whose block is the right one may count as theirs. */
static struct clp_selected *new_selected(const struct clp_selected *original, PyCodeObject *code)
{
    struct clp_recorder *recorder = original->recorder;
    struct clp_shape shape;

    if (!clp_shape_copy_lines(&shape, &recorder->mem, &original->shape))
        return NULL;
    struct clp_selected *selected =
        clp_recorder_new_selected(recorder, NULL, original->function, &shape);
    if (selected == NULL)
        return NULL;
    selected->probed = true;
    selected->text = original->text;
    selected->identity = ++recorder->copies << 1 | 1;
    selected->original = Py_NewRef((PyObject *)code);
    selected->suspends = (code->co_flags & CLP_SUSPENDS) != 0;
    return selected;
}

static PyObject *make_copy(const struct state *state, PyCodeObject *code,
                           const struct clp_selected *original,
                           const struct clp_rewritten *rewritten)
{
    struct clp_selected *selected = new_selected(original, code);
    PyObject *copy = selected != NULL ? assemble(state, code, selected, rewritten) : NULL;

    if (copy == NULL ||
        clp_compat_set_code_data(copy, original->recorder->code_slot, selected) != 0) {
        Py_XDECREF(copy);
        clp_recorder_drop_selected(selected);
        return NULL;
    }
    selected->code = copy;
    if (!clp_monitoring_carry(original->recorder, (PyObject *)code, copy))
        Py_CLEAR(copy);
    return copy;
}

static enum clp_selection rewrite(const struct state *state, PyCodeObject *code, PyObject *bytes,
                                  struct clp_selected *selected, const char **reason)
{
    struct clp_code old = clp_shape_code(code, bytes);
    struct clp_rewritten rewritten;

    old.statements = clp_statements_of(selected->recorder->statements, selected->text);
    if (clp_rewrite(&rewritten, &selected->recorder->mem, &selected->recorder->bytecode, &old, true,
                    reason) != CLP_OK) {
        selected->refused = true;
        return CLP_SELECTION_REFUSED;
    }
    selected->copy = make_copy(state, code, selected, &rewritten);
    clp_rewritten_clear(&rewritten);
    return selected->copy != NULL ? CLP_SELECTION_DONE : CLP_SELECTION_FAILED;
}

static enum clp_selection select_code(struct clp_recorder *recorder, PyCodeObject *code,
                                      struct clp_selected *selected, const char **reason)
{
    if (recorder->no_probes != NULL) {
        *reason = recorder->no_probes;
        selected->refused = true;
        return CLP_SELECTION_REFUSED;
    }
    PyObject *bytes = PyCode_GetCode(code);
    if (bytes == NULL)
        return CLP_SELECTION_FAILED;
    enum clp_selection outcome = rewrite(recorder->probe_state, code, bytes, selected, reason);
    Py_DECREF(bytes);
    return outcome;
}

static bool install(PyObject *function, struct clp_selected *selected)
{
    return PyObject_SetAttrString(function, "__code__", selected->copy) == 0;
}

/* Probes are the last of the constants. */
static struct clp_selected *owner(PyCodeObject *code)
{
    Py_ssize_t count = PyTuple_GET_SIZE(code->co_consts);
    PyObject *last = count > 0 ? PyTuple_GET_ITEM(code->co_consts, count - 1) : Py_None;

    return Py_TYPE(last)->tp_dealloc == probe_free ? ((struct probe *)last)->selected : NULL;
}

/* ---- starting and stopping ---- */

static void free_state(struct clp_recorder *recorder)
{
    struct state *state = recorder->probe_state;

    for (size_t i = 0; i < CLP_PROBE_KINDS; i++)
        Py_CLEAR(state->types[i]);
    clp_mem_free(&recorder->mem, state, 1, sizeof *state);
    recorder->probe_state = NULL;
}

static bool start(struct clp_recorder *recorder)
{
    struct state *state = clp_mem_alloc(&recorder->mem, 1, sizeof *state);

    if (state == NULL) {
        PyErr_NoMemory();
        return false;
    }
    recorder->probe_state = state;
    bool done = recorder->knows_bytecode;
    if (!done)
        PyErr_Format(PyExc_RuntimeError,
                     "the instructions of this interpreter are not those of CPython %d.%d; use "
                     "--tracer monitoring or settrace", PY_MAJOR_VERSION, PY_MINOR_VERSION);
    for (size_t i = 0; done && i < CLP_PROBE_KINDS; i++)
        done = (state->types[i] = make_type((enum clp_probe_kind)i, recorder->clock.counter)) != NULL;
    if (!done)
        free_state(recorder);
    return done;
}

/* Probes that are still in code find no tracer and record nothing. */
static void stop(struct clp_recorder *recorder)
{
    free_state(recorder);
}

const struct clp_tracer clp_tracer_probe = {
    .name = "probe",
    .start = start,
    .stop = stop,
    .select = select_code,
    .install = install,
    .owner = owner,
};

#endif
