/* SPDX-License-Identifier: MIT */
/* The import system and runpy take a module's code from its loader's get_code, which writes the cache
 * by itself. SourceLoader is the one base of the loaders of source files; a program's own loaders that
 * go another way import as they always do. */
#include "imports.h"
#include "../src/python/profiler.h"

/* Stands in the place of SourceLoader.get_code. Not a built-in function, of whose calls cProfile and
 * others are told. */
struct wrapper {
    PyObject_HEAD
    PyObject *profiler, *get_code; /* owned */
};

static PyObject *call(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    const struct wrapper *wrapper = (const struct wrapper *)self;
    PyObject *code = PyObject_Call(wrapper->get_code, arguments, keywords);

    if (code == NULL || !PyCode_Check(code))
        return code;
    PyObject *prepared = clp_profiler_prepare(wrapper->profiler, code);
    Py_DECREF(code);
    return prepared;
}

static PyObject *bind(PyObject *self, PyObject *loader, PyObject *type)
{
    (void)type;
    return loader != NULL ? PyMethod_New(self, loader) : Py_NewRef(self);
}

static void free_wrapper(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    Py_XDECREF(((struct wrapper *)self)->profiler);
    Py_XDECREF(((struct wrapper *)self)->get_code);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot slots[] = {
    {Py_tp_call, call},
    {Py_tp_descr_get, bind},
    {Py_tp_dealloc, free_wrapper},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "clineprof._core.GetCode",
    .basicsize = sizeof(struct wrapper),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

/* Takes get_code. */
static PyObject *wrap(PyObject *profiler, PyObject *get_code)
{
    PyObject *type = PyType_FromSpec(&spec);
    struct wrapper *wrapper = NULL;

    if (type != NULL)
        wrapper = PyObject_New(struct wrapper, (PyTypeObject *)type);
    if (wrapper != NULL) {
        wrapper->profiler = Py_NewRef(profiler);
        wrapper->get_code = Py_NewRef(get_code);
    }
    Py_XDECREF(type);
    Py_DECREF(get_code);
    return (PyObject *)wrapper;
}

bool clp_imports_prepare(PyObject *profiler)
{
    PyObject *importlib = PyImport_ImportModule("_frozen_importlib_external");
    PyObject *loader = importlib != NULL ? PyObject_GetAttrString(importlib, "SourceLoader") : NULL;
    PyObject *get_code = loader != NULL ? PyObject_GetAttrString(loader, "get_code") : NULL;
    PyObject *wrapper = get_code != NULL ? wrap(profiler, get_code) : NULL;
    bool done = wrapper != NULL && PyObject_SetAttrString(loader, "get_code", wrapper) == 0;

    Py_XDECREF(importlib);
    Py_XDECREF(loader);
    Py_XDECREF(wrapper);
    return done;
}
