/* SPDX-License-Identifier: MIT */
#include "retreat.h"
#include "change.h"
#include "cpython/tracers/probe.h"
#include "settling.h"

#if CLP_HAS_PROBES

/* The code that this copy was made of, prepared for another tracer. A new reference; NULL: that failed, and
 * nothing has changed. */
static PyObject *own_code(struct clp_recorder *recorder, const struct clp_selected *copy)
{
    PyObject *own = Py_NewRef(copy->original);

    if (copy->function == CLP_UNSELECTED || clp_tracer_give_up(recorder, copy, own))
        return own;
    PyErr_Clear();
    Py_DECREF(own);
    return NULL;
}

/* Exchanges all code within the code. The tuples that hold code with probes were made for it, so they may be
 * changed. The code that they held is kept alive: another thread may have taken it out of the tuple, and not
 * hold a reference yet. */
static void clear_constants(struct clp_recorder *recorder, PyObject *code)
{
    PyObject *constants = ((PyCodeObject *)code)->co_consts;

    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); i++) {
        PyObject *item = PyTuple_GET_ITEM(constants, i);
        const struct clp_selected *copy = PyCode_Check(item) ? clp_recorder_probes(recorder, item) : NULL;
        PyObject *own = copy != NULL ? own_code(recorder, copy) : NULL;
        if (own != NULL) {
            PyTuple_SET_ITEM(constants, i, own);
            item = own;
        }
        if (PyCode_Check(item))
            clear_constants(recorder, item);
    }
}

/* Exchanges the code of a function and all code within it. A module's body that is running is one of the
 * interpreter's functions, too: it continues as it is, and never runs again. */
static void clear_function(struct clp_recorder *recorder, PyObject *function)
{
    PyObject *code = Py_NewRef(PyFunction_GetCode(function));
    bool again = (((PyCodeObject *)code)->co_flags & CO_OPTIMIZED) != 0;
    const struct clp_selected *copy = again ? clp_recorder_probes(recorder, code) : NULL;
    PyObject *own = copy != NULL ? own_code(recorder, copy) : NULL;

    if (own != NULL && (PyObject_SetAttrString(function, "__code__", own) != 0 ||
                        (copy->function != CLP_UNSELECTED &&
                         !clp_tracer_settle(recorder, copy->function))))
        PyErr_Clear(); /* an audit hook forbids it */
    clear_constants(recorder, own != NULL ? own : code);
    Py_XDECREF(own);
    Py_DECREF(code);
}

static void clear_functions(struct clp_recorder *recorder, PyObject *objects)
{
    for (Py_ssize_t i = 0; objects != NULL && i < PySequence_Fast_GET_SIZE(objects); i++) {
        if (PyFunction_Check(PySequence_Fast_GET_ITEM(objects, i)))
            clear_function(recorder, PySequence_Fast_GET_ITEM(objects, i));
    }
}

/* Exchanges the code within code that is running, because modules that are being executed define functions from
 * it. */
static void clear_running(struct clp_recorder *recorder)
{
    PyFrameObject *frame = (PyFrameObject *)Py_XNewRef((PyObject *)PyEval_GetFrame());

    while (frame != NULL) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        PyCodeObject *code = PyFrame_GetCode(frame);
        clear_constants(recorder, (PyObject *)code);
        Py_DECREF(code);
        Py_DECREF(frame);
        frame = back;
    }
}

void clp_retreat(struct clp_recorder *recorder, const char *reason)
{
    if (recorder->no_probes != NULL || recorder->tracer != &clp_tracer_probe)
        return;
    recorder->no_probes = reason;
    PyObject *objects = clp_compat_collector("get_objects", NULL);
    clp_change_begin(recorder);
    clear_functions(recorder, objects);
    clear_running(recorder);
    clp_change_end(recorder);
    Py_XDECREF(objects);
}

#else

void clp_retreat(struct clp_recorder *recorder, const char *reason)
{
    (void)recorder, (void)reason;
}

#endif
