/* SPDX-License-Identifier: MIT */
/* The probe tracer: CPython 3.11 and newer.
 *
 * A selected function gets a copy of its code object in which probes stand (src/rewrite/rewrite.h shows where).
 * A probe is a constant of that copy: an object whose negative is None. Taking its negative is the event. A
 * probe knows its function and its line, so nothing is searched or hashed. The state of the thread is one
 * pointer in thread-local storage. Nothing else in the program is touched. */
#include "probe.h"
#include "probe_copies.h"
#include "probe_events.h"
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

static PyObject *probe_repr(PyObject *self)
{
    const struct clp_selected *selected = ((struct clp_probe_object *)self)->selected;

    return PyUnicode_FromFormat("<%s of function %u>", Py_TYPE(self)->tp_name, selected->function);
}

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
        {Py_tp_methods, clp_probe_copies_methods},
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

static PyObject *make_probe(const struct clp_probe_copying *copying, struct clp_selected *copy, size_t number)
{
    return new_probe(copying->context, copy, copying->rewritten->probes[number], copying->names);
}

static enum clp_selection select_code(struct clp_recorder *recorder, PyCodeObject *code,
                                      struct clp_selected *selected, const char **reason)
{
    struct clp_probe_copying copying = {
        .insert = recorder->with_called != 0 ? CLP_INSERT_AROUND : CLP_INSERT_LINES,
        .make = make_probe,
        .context = recorder->probe_state,
    };

    return clp_probe_copies_select(recorder, code, selected, &copying, reason);
}

static struct clp_selected *owner(PyCodeObject *code)
{
    PyObject *last = clp_probe_copies_last(code);

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
    bool done = clp_probe_copies_known(recorder);
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
    .install = clp_probe_copies_install,
    .owner = owner,
};

#endif
