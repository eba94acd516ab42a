/* SPDX-License-Identifier: MIT */
#include "modules.h"
#include "cpython/compat/raised.h"
#include "cpython/recorder/greenlets.h"
#include "readers.h"

static const struct interest {
    const char *module;
    void (*meet)(struct clp_recorder *recorder, PyObject *module);
} interests[] = {
    {"greenlet._greenlet", clp_greenlets_meet},
    {"greenlet", clp_greenlets_meet}, /* before version 1 it was all there was */
    {CLP_READERS_DYNAMO, clp_readers_meet_dynamo},
};

#define INTERESTS (sizeof interests / sizeof *interests)

static void meet(struct clp_recorder *recorder, PyObject *module)
{
    PyObject *name = PyModule_Check(module) ? PyModule_GetNameObject(module) : NULL;

    for (size_t i = 0; name != NULL && i < INTERESTS; i++) {
        if (PyUnicode_CompareWithASCIIString(name, interests[i].module) == 0)
            interests[i].meet(recorder, module);
    }
    PyErr_Clear();
    Py_XDECREF(name);
}

static void meet_loaded(struct clp_recorder *recorder)
{
    PyObject *modules = PyImport_GetModuleDict(); /* borrowed */

    for (size_t i = 0; i < INTERESTS; i++) {
        PyObject *module = Py_XNewRef(PyDict_GetItemString(modules, interests[i].module));
        if (module != NULL)
            interests[i].meet(recorder, module);
        PyErr_Clear();
        Py_XDECREF(module);
    }
}

/* ---- loaders ---- */

/* A class of the interpreter's loaders; classes below it inherit its exec_module. */
struct loader {
    const char *name;
    /* owned: the class, its exec_module, and what takes that one's place; NULL: not looked for yet */
    PyObject *class, *own, *ours;
    bool put; /* ours is in its place, or what has come there since calls it */
};

/* The interpreter's loaders are the process's; a method descriptor has no room for more than its loader. */
static struct {
    struct clp_recorder *recorder; /* borrowed; NULL: nobody ever watched */
    struct loader loaders[2];
    bool met; /* all that were loaded when the watching began */
    bool on;
} watching = {.loaders = {{.name = "ExtensionFileLoader"}, {.name = "_LoaderBasics"}}};

#define LOADERS (sizeof watching.loaders / sizeof *watching.loaders)

/* Owned; NULL when it is no loader of these. */
static PyObject *own_method(PyObject *loader)
{
    for (size_t i = 0; i < LOADERS; i++) {
        const struct loader *place = &watching.loaders[i];
        if (place->ours != NULL && PyObject_TypeCheck(loader, PyDescr_TYPE(place->ours)))
            return Py_XNewRef(place->own);
    }
    return NULL;
}

static PyObject *exec_module(PyObject *loader, PyObject *module)
{
    PyObject *own = own_method(loader);
    PyObject *result = PyObject_CallFunctionObjArgs(own, loader, module, NULL);

    Py_XDECREF(own);
    if (result != NULL && watching.on)
        meet(watching.recorder, module);
    return result;
}

static PyMethodDef exec_module_method = {"exec_module", exec_module, METH_O, NULL};

/* Owned; NULL where there is none. */
static PyObject *loader_class(const char *name)
{
    PyObject *holder = PyImport_ImportModule("_frozen_importlib_external");
    PyObject *class = holder != NULL ? PyObject_GetAttrString(holder, name) : NULL;

    Py_XDECREF(holder);
    return class;
}

/* What another thread has found meanwhile stays. Takes `found`, or NULL. */
static void keep(PyObject **place, PyObject *found)
{
    if (*place == NULL)
        *place = found;
    else
        Py_XDECREF(found);
}

/* What the program has put there since we gave it back is the loader's own now. */
static void put(struct loader *place)
{
    PyObject *names = clp_compat_class_dict(place->class);
    PyObject *there = names != NULL ? Py_XNewRef(PyDict_GetItemString(names, "exec_module")) : NULL;

    if (there != NULL && there != place->ours)
        Py_XSETREF(place->own, Py_NewRef(there));
    if (place->own != NULL)
        place->put = PyObject_SetAttrString(place->class, "exec_module", place->ours) == 0;
    Py_XDECREF(names);
    Py_XDECREF(there);
}

/* What is put there is a method as those written in C are: of other callables the interpreter tells
 * cProfile the end only. */
static void exchange(struct loader *place)
{
    if (place->class == NULL)
        keep(&place->class, loader_class(place->name));
    if (place->class != NULL && place->ours == NULL)
        keep(&place->ours, PyDescr_NewMethod((PyTypeObject *)place->class, &exec_module_method));
    if (place->ours != NULL && !place->put)
        put(place);
    PyErr_Clear();
}

static void give_back(struct loader *place)
{
    PyObject *names = place->put ? clp_compat_class_dict(place->class) : NULL;

    if (names != NULL && PyDict_GetItemString(names, "exec_module") == place->ours)
        place->put = PyObject_SetAttrString(place->class, "exec_module", place->own) != 0;
    PyErr_Clear();
    Py_XDECREF(names);
}

static void watch(struct clp_recorder *recorder)
{
    watching.recorder = recorder;
    watching.on = true;
    for (size_t i = 0; i < LOADERS; i++)
        exchange(&watching.loaders[i]);
    meet_loaded(recorder);
    watching.met = true;
    if (recorder->windows == 0) /* the last window has gone meanwhile */
        clp_modules_unwatch();
}

void clp_modules_watch(struct clp_recorder *recorder)
{
    if (watching.met)
        return;
    struct clp_raised raised = clp_raised_take();
    watch(recorder);
    clp_raised_give(raised);
}

void clp_modules_unwatch(void)
{
    struct clp_raised raised = clp_raised_take();

    watching.on = watching.met = false;
    for (size_t i = 0; i < LOADERS; i++)
        give_back(&watching.loaders[i]);
    clp_raised_give(raised);
}
