/* SPDX-License-Identifier: MIT */
/* The probe tracer: CPython 3.11 and newer.
 *
 * A selected function gets a copy of its code object in which probes stand (src/rewrite/rewrite.h shows where).
 * A probe is a constant of that copy: an object whose negative is None. Taking its negative is the event. A
 * probe knows its function and its line, so nothing is searched or hashed. The state of the thread is one
 * pointer in thread-local storage. Nothing else in the program is touched. */
#include "probe.h"
#include "monitoring.h"
#include "offering.h"
#include "probe_events.h"
#include "cpython/code/statements.h"
#include "rewrite/around.h"

#if CLP_HAS_PROBES

struct state {
    PyTypeObject *types[CLP_PROBE_KINDS];   /* owned */
    PyTypeObject *watched[CLP_PROBE_KINDS]; /* owned; of clp_probe_watched_events, NULL: the same as in types */
};

/* ---- the types ---- */

static void probe_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    Py_XDECREF(((struct clp_probe_object *)self)->name);
    clp_recorder_drop_selected(((struct clp_probe_object *)self)->selected);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Pickles a probe as a plain 0, so that code which is pickled by value works where clineprof is missing. */
static PyObject *probe_reduce(PyObject *self, PyObject *nothing)
{
    (void)self, (void)nothing;
    return Py_BuildValue("O()", &PyLong_Type);
}

static PyObject *probe_repr(PyObject *self)
{
    const struct clp_selected *selected = ((struct clp_probe_object *)self)->selected;

    return PyUnicode_FromFormat("<%s of function %u>", Py_TYPE(self)->tp_name, selected->function);
}

static PyMethodDef probe_methods[] = {
    {"__reduce__", probe_reduce, METH_NOARGS, "A plain 0 to whoever unpickles it."},
    {NULL, NULL, 0, NULL},
};

/* The slot of the event: what the interpreter does with a probe. */
static PyType_Slot event_slot(const struct clp_probe_event *of, bool counter)
{
    unaryfunc event = counter ? of->with_counter : of->with_system_clock;
    objobjproc with_operand = counter ? of->operand_with_counter : of->operand_with_system_clock;

    if (event != NULL)
        return (PyType_Slot){Py_nb_negative, (void *)event};
    if (with_operand != NULL)
        return (PyType_Slot){Py_sq_contains, (void *)with_operand};
    return (PyType_Slot){Py_nb_add, (void *)clp_probe_add_raised};
}

static PyTypeObject *make_type(const struct clp_probe_event *of, bool counter)
{
    PyType_Slot slots[] = {
        event_slot(of, counter),
        {Py_tp_dealloc, (void *)probe_free},
        {Py_tp_repr, (void *)probe_repr},
        {Py_tp_methods, probe_methods},
        {0, NULL},
    };
    PyType_Spec spec = {
        .name = of->name,
        .basicsize = sizeof(struct clp_probe_object),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
        .slots = slots,
    };

    return (PyTypeObject *)PyType_FromSpec(&spec);
}

/* Sets what the probe knows of what is called; `names` are those of the code. False with an exception set. */
static bool set_name(struct clp_probe_object *probe, struct clp_probe what, PyObject *names)
{
    struct clp_callee_names *known = &probe->selected->recorder->engine.callee_names;
    const char *text = clp_operator_text(what.name);

    probe->name = NULL;
    probe->callee = (struct clp_callee){0};
    probe->key = (struct clp_callee_key){0};
    if (what.kind == CLP_PROBE_CALL && what.name != 0 && (Py_ssize_t)what.name <= PyTuple_GET_SIZE(names))
        probe->name = Py_NewRef(PyTuple_GET_ITEM(names, what.name - 1));
    if (what.kind != CLP_PROBE_OPERATED)
        return true;
    probe->callee.name = clp_callee_names_add(known, text, strlen(text));
    if (probe->callee.name == 0)
        PyErr_NoMemory();
    return probe->callee.name != 0;
}

static PyObject *new_probe(const struct state *state, struct clp_selected *selected,
                           struct clp_probe what, PyObject *names)
{
    bool watched = selected->recorder->with_called != 0 && state->watched[what.kind] != NULL;
    struct clp_probe_object *probe =
        PyObject_New(struct clp_probe_object, watched ? state->watched[what.kind] : state->types[what.kind]);

    if (probe == NULL)
        return NULL;
    selected->holders++;
    probe->selected = selected;
    probe->line = what.line;
    probe->place = clp_block_place(clp_code_lines_find(&selected->shape, what.line));
    if (!set_name(probe, what, names))
        Py_CLEAR(probe);
    return (PyObject *)probe;
}

/* ---- copies of code ---- */

/* The constants for a copy of the code: its own, with the copies of selected code among them, and the probes
 * behind them. */
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
        PyObject *probe = new_probe(state, selected, rewritten->probes[i], code->co_names);
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

/* Makes the data for a copy of code, which takes it over once it exists. The copy's probes may outlive it, in a
 * copy that somebody else makes, and another code object may get its address. So its identity is a number of
 * its own: only a body that was entered by these probes counts as theirs. */
static struct clp_selected *new_selected(const struct clp_selected *original, PyCodeObject *code)
{
    struct clp_recorder *recorder = original->recorder;
    struct clp_code_lines lines;

    if (!clp_code_lines_copy_lines(&lines, &recorder->mem, &original->shape))
        return NULL;
    struct clp_selected *selected =
        clp_recorder_new_selected(recorder, NULL, original->function, &lines);
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
    struct clp_code old = clp_code_lines_code(code, bytes);
    struct clp_rewritten rewritten;

    old.statements = clp_statements_of(selected->recorder->statements, selected->text);
    if (clp_rewrite(&rewritten, &selected->recorder->mem, &selected->recorder->bytecode, &old,
                    selected->recorder->with_called != 0 ? CLP_INSERT_AROUND : CLP_INSERT_LINES, reason) != CLP_OK) {
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

/* Probes are the last constants of code. */
static struct clp_selected *owner(PyCodeObject *code)
{
    Py_ssize_t count = PyTuple_GET_SIZE(code->co_consts);
    PyObject *last = count > 0 ? PyTuple_GET_ITEM(code->co_consts, count - 1) : Py_None;

    return Py_TYPE(last)->tp_dealloc == probe_free ? ((struct clp_probe_object *)last)->selected : NULL;
}

/* ---- starting and stopping ---- */

static void free_state(struct clp_recorder *recorder)
{
    struct state *state = recorder->probe_state;

    for (size_t i = 0; i < CLP_PROBE_KINDS; i++) {
        Py_CLEAR(state->types[i]);
        Py_CLEAR(state->watched[i]);
    }
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
    bool done = recorder->bytecode.known;
    if (!done)
        PyErr_Format(PyExc_RuntimeError,
                     "this CPython %d.%d has instructions that clineprof does not know; use "
                     "--tracer monitoring or settrace", PY_MAJOR_VERSION, PY_MINOR_VERSION);
    for (size_t i = 0; done && i < CLP_PROBE_KINDS; i++) {
        const struct clp_probe_event *watched = &clp_probe_watched_events[i];
        done = (state->types[i] = make_type(&clp_probe_events[i], recorder->clock.counter)) != NULL;
        if (done && watched->name != NULL)
            done = (state->watched[i] = make_type(watched, recorder->clock.counter)) != NULL;
    }
    if (!done)
        free_state(recorder);
    return done;
}

/* Stops the tracer. Probes that are still in code find no tracer, and record nothing. */
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
