/* SPDX-License-Identifier: MIT */
/* The import system and runpy take a module's code from its loader's get_code, which writes the cache
 * by itself. SourceLoader is the one base of the loaders of source files; a program's own loaders that
 * go another way import as they always do. */
#include "imports.h"
#include "../src/python/profiler.h"

/* What the wrapper carries: get_code as it was. */
enum { PROFILER, GET_CODE, CARRIED };

static PyObject *get_code(PyObject *carried, PyObject *arguments, PyObject *keywords)
{
    PyObject *code = PyObject_Call(PyTuple_GET_ITEM(carried, GET_CODE), arguments, keywords);

    if (code == NULL || !PyCode_Check(code))
        return code;
    PyObject *prepared = clp_profiler_prepare(PyTuple_GET_ITEM(carried, PROFILER), code);
    Py_DECREF(code);
    return prepared;
}

static PyMethodDef wrapper = {"get_code", (PyCFunction)(void (*)(void))get_code,
                              METH_VARARGS | METH_KEYWORDS, "As SourceLoader.get_code."};

/* Owned; binds like a function. */
static PyObject *wrap(PyObject *profiler, PyObject *original)
{
    PyObject *carried = PyTuple_Pack(CARRIED, profiler, original);
    PyObject *function = carried != NULL ? PyCFunction_New(&wrapper, carried) : NULL;
    PyObject *method = function != NULL ? PyInstanceMethod_New(function) : NULL;

    Py_XDECREF(carried);
    Py_XDECREF(function);
    return method;
}

bool clp_imports_prepare(PyObject *profiler)
{
    PyObject *importlib = PyImport_ImportModule("_frozen_importlib_external");
    PyObject *loader = importlib != NULL ? PyObject_GetAttrString(importlib, "SourceLoader") : NULL;
    PyObject *original = loader != NULL ? PyObject_GetAttrString(loader, "get_code") : NULL;
    PyObject *method = original != NULL ? wrap(profiler, original) : NULL;
    bool done = method != NULL && PyObject_SetAttrString(loader, "get_code", method) == 0;

    Py_XDECREF(importlib);
    Py_XDECREF(loader);
    Py_XDECREF(original);
    Py_XDECREF(method);
    return done;
}
