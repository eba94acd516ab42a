/* SPDX-License-Identifier: MIT */
#include "probe_copies.h"
#include "cpython/code/statements.h"
#include "monitoring.h"
#include "offering.h"

#if CLP_HAS_PROBES

static PyObject *reduce(PyObject *self, PyObject *nothing)
{
    (void)self, (void)nothing;
    return Py_BuildValue("O()", &PyLong_Type);
}

PyMethodDef clp_probe_copies_methods[] = {
    {"__reduce__", reduce, METH_NOARGS, "A plain 0 to whoever unpickles it."},
    {NULL, NULL, 0, NULL},
};

bool clp_probe_copies_known(const struct clp_recorder *recorder)
{
    if (!recorder->bytecode.known)
        PyErr_Format(PyExc_RuntimeError,
                     "this CPython %d.%d has instructions that clineprof does not know; use "
                     "--tracer monitoring or settrace", PY_MAJOR_VERSION, PY_MINOR_VERSION);
    return recorder->bytecode.known;
}

/* The constants for a copy of the code: its own, with the copies of selected code among them, and the probes
 * behind them. */
static PyObject *with_probes(PyCodeObject *code, struct clp_selected *copy, const struct clp_probe_copying *copying)
{
    Py_ssize_t count = PyTuple_GET_SIZE(code->co_consts);
    PyObject *constants = PyTuple_New(count + (Py_ssize_t)copying->rewritten->probe_count);

    for (Py_ssize_t i = 0; constants != NULL && i < PyTuple_GET_SIZE(constants); i++) {
        PyObject *item = i < count ? clp_tracer_inner_code(copy->recorder, PyTuple_GET_ITEM(code->co_consts, i))
                                   : copying->make(copying, copy, (size_t)(i - count));
        if (item == NULL)
            Py_CLEAR(constants);
        else
            PyTuple_SET_ITEM(constants, i, item);
    }
    return constants;
}

static PyObject *bytes_of(const struct clp_buf *buf)
{
    return PyBytes_FromStringAndSize(clp_buf_text(buf), (Py_ssize_t)buf->used);
}

static PyObject *assemble(PyCodeObject *code, struct clp_selected *copy, const struct clp_probe_copying *copying)
{
    const struct clp_rewritten *rewritten = copying->rewritten;
    struct clp_code_parts parts = {
        .code = bytes_of(&rewritten->code),
        .constants = with_probes(code, copy, copying),
        .locations = bytes_of(&rewritten->locations),
        .exceptions = bytes_of(&rewritten->exceptions),
        .stack_size = rewritten->stack_size,
    };
    PyObject *made = NULL;

    if (parts.code != NULL && parts.constants != NULL && parts.locations != NULL &&
        parts.exceptions != NULL)
        made = clp_compat_copy_code(code, &parts);
    Py_XDECREF(parts.code);
    Py_XDECREF(parts.constants);
    Py_XDECREF(parts.locations);
    Py_XDECREF(parts.exceptions);
    return made;
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

static PyObject *make_copy(PyCodeObject *code, const struct clp_selected *original, const struct clp_probe_copying *copying)
{
    struct clp_selected *selected = new_selected(original, code);
    PyObject *copy = selected != NULL ? assemble(code, selected, copying) : NULL;

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

static enum clp_selection rewrite(PyCodeObject *code, PyObject *bytes, struct clp_selected *selected,
                                  struct clp_probe_copying *copying, const char **reason)
{
    struct clp_recorder *recorder = selected->recorder;
    struct clp_code old = clp_code_lines_code(code, bytes);
    struct clp_rewritten rewritten;

    old.statements = clp_statements_of(recorder->statements, selected->text);
    if (clp_rewrite(&rewritten, &recorder->mem, &recorder->bytecode, &old, copying->insert, reason) != CLP_OK) {
        selected->refused = true;
        return CLP_SELECTION_REFUSED;
    }
    copying->rewritten = &rewritten;
    copying->names = code->co_names;
    selected->copy = make_copy(code, selected, copying);
    clp_rewritten_clear(&rewritten);
    return selected->copy != NULL ? CLP_SELECTION_DONE : CLP_SELECTION_FAILED;
}

enum clp_selection clp_probe_copies_select(struct clp_recorder *recorder, PyCodeObject *code, struct clp_selected *selected,
                                           struct clp_probe_copying *copying, const char **reason)
{
    if (recorder->no_probes != NULL) {
        *reason = recorder->no_probes;
        selected->refused = true;
        return CLP_SELECTION_REFUSED;
    }
    PyObject *bytes = PyCode_GetCode(code);
    if (bytes == NULL)
        return CLP_SELECTION_FAILED;
    enum clp_selection outcome = rewrite(code, bytes, selected, copying, reason);
    Py_DECREF(bytes);
    return outcome;
}

PyObject *clp_probe_copies_last(PyCodeObject *code)
{
    Py_ssize_t count = PyTuple_GET_SIZE(code->co_consts);

    return count > 0 ? PyTuple_GET_ITEM(code->co_consts, count - 1) : Py_None;
}

bool clp_probe_copies_install(PyObject *function, struct clp_selected *selected)
{
    return PyObject_SetAttrString(function, "__code__", selected->copy) == 0;
}

#endif
