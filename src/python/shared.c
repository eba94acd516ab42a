/* SPDX-License-Identifier: MIT */
#include "shared.h"

/* Is the code a constant of this one, or of code that is? */
static bool is_constant(PyObject *constants, PyCodeObject *code, int depth)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); i++) {
        if (PyTuple_GET_ITEM(constants, i) == (PyObject *)code)
            return true;
    }
    for (Py_ssize_t i = 0; depth > 0 && i < PyTuple_GET_SIZE(constants); i++) {
        PyObject *inner = PyTuple_GET_ITEM(constants, i);
        if (PyCode_Check(inner) &&
            is_constant(((PyCodeObject *)inner)->co_consts, code, depth - 1))
            return true;
    }
    return false;
}

/* The code that is making the selection holds the functions it defines, and those of its classes. */
static bool is_being_defined(PyCodeObject *code)
{
    PyFrameObject *frame = PyEval_GetFrame(); /* borrowed */
    PyCodeObject *definer = frame != NULL ? PyFrame_GetCode(frame) : NULL;
    bool found = definer != NULL && is_constant(definer->co_consts, code, 1);

    Py_XDECREF(definer);
    return found;
}

#if CLP_HAS_MONITORING

static bool select_elsewhere(struct clp_recorder *recorder, PyCodeObject *code,
                             struct clp_selected *selected)
{
    const char *reason;

    return clp_tracer_start_fallback(recorder) &&
           recorder->fallback->select(recorder, code, selected, &reason) == CLP_SELECTION_DONE;
}

#else

/* Owned list of whatever refers to the code. */
static PyObject *holders_of(PyCodeObject *code)
{
    PyObject *module = PyImport_ImportModule("gc");
    PyObject *holders =
        module != NULL ? PyObject_CallMethod(module, "get_referrers", "O", code) : NULL;

    Py_XDECREF(module);
    return holders;
}

static bool select_elsewhere(struct clp_recorder *recorder, PyCodeObject *code,
                             struct clp_selected *selected)
{
    PyObject *holders = holders_of(code);
    bool done = holders != NULL;

    for (Py_ssize_t i = 0; done && i < PyList_GET_SIZE(holders); i++) {
        PyObject *holder = PyList_GET_ITEM(holders, i);
        if (PyFunction_Check(holder) && PyFunction_GetCode(holder) == (PyObject *)code)
            done = recorder->tracer->install(holder, selected);
    }
    Py_XDECREF(holders);
    return done;
}

#endif

bool clp_shared_select(struct clp_recorder *recorder, PyCodeObject *code,
                       struct clp_selected *selected)
{
    Py_ssize_t known = 1; /* the caller's */

    if (selected->copy == NULL)
        return true;
    if (Py_REFCNT(code) > known && is_being_defined(code))
        known++;
    return Py_REFCNT(code) <= known || select_elsewhere(recorder, code, selected);
}
