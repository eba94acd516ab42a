/* SPDX-License-Identifier: MIT */
#include "prepare.h"
#include "decorators.h"

#if CLP_HAS_PROBES

/* The code with probes that nobody has selected yet; the same when the tracer refuses it. */
static PyObject *with_probes(struct clp_recorder *recorder, PyObject *code)
{
    struct clp_selected original = {.recorder = recorder, .function = CLP_UNSELECTED};
    const char *reason;

    if (!clp_shape_init(&original.shape, &recorder->mem, (PyCodeObject *)code, &recorder->opcodes))
        return NULL;
    enum clp_selection outcome =
        recorder->tracer->select(recorder, (PyCodeObject *)code, &original, &reason);
    clp_shape_clear(&original.shape, &recorder->mem);
    if (outcome == CLP_SELECTION_REFUSED)
        return Py_NewRef(code);
    return original.copy;
}

static PyObject *prepared(struct clp_recorder *recorder, const struct clp_decorators *decorators,
                          PyObject *item)
{
    PyObject *inner = clp_prepare_code(recorder, item);

    if (inner == NULL || (((PyCodeObject *)inner)->co_flags & CO_OPTIMIZED) == 0 ||
        !clp_decorators_have(decorators, (PyCodeObject *)item, CLP_DECORATOR_PROFILE) ||
        clp_decorators_have(decorators, (PyCodeObject *)item, CLP_DECORATOR_COMPILES))
        return inner;
    PyObject *copy = with_probes(recorder, inner);
    Py_DECREF(inner);
    return copy;
}

/* New constants; *changed when they differ. */
static PyObject *prepared_constants(struct clp_recorder *recorder, PyCodeObject *code,
                                    const struct clp_decorators *decorators, bool *changed)
{
    Py_ssize_t count = PyTuple_GET_SIZE(code->co_consts);
    PyObject *constants = PyTuple_New(count);

    for (Py_ssize_t i = 0; constants != NULL && i < count; i++) {
        PyObject *item = PyTuple_GET_ITEM(code->co_consts, i);
        PyObject *new =
            PyCode_Check(item) ? prepared(recorder, decorators, item) : Py_NewRef(item);
        *changed |= new != item;
        if (new == NULL)
            Py_CLEAR(constants);
        else
            PyTuple_SET_ITEM(constants, i, new);
    }
    return constants;
}

/* Most code says nothing of `profile`, and neither does code within it. */
static bool mentions_profile(const PyCodeObject *code)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_names); i++) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(code->co_names, i), "profile") == 0)
            return true;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); i++) {
        PyObject *item = PyTuple_GET_ITEM(code->co_consts, i);
        if (PyCode_Check(item) && mentions_profile((PyCodeObject *)item))
            return true;
    }
    return false;
}

PyObject *clp_prepare_code(struct clp_recorder *recorder, PyObject *code)
{
    bool changed = false;

    if (recorder->tracer == NULL || recorder->tracer->install == NULL ||
        !mentions_profile((PyCodeObject *)code))
        return Py_NewRef(code);
    struct clp_decorators decorators;
    clp_decorators_init(&decorators, recorder, (PyCodeObject *)code);
    PyObject *constants =
        prepared_constants(recorder, (PyCodeObject *)code, &decorators, &changed);
    clp_decorators_clear(&decorators);
    PyObject *copy = constants == NULL ? NULL
                     : changed ? clp_compat_with_constants((PyCodeObject *)code, constants)
                               : Py_NewRef(code);
    Py_XDECREF(constants);
    return copy;
}

#else

PyObject *clp_prepare_code(struct clp_recorder *recorder, PyObject *code)
{
    (void)recorder;
    return Py_NewRef(code);
}

#endif
