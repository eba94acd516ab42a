/* SPDX-License-Identifier: MIT */
#include "modules.h"
#include "compilers.h"
#include "cpython/compat/raised.h"
#include "cpython/recorder/greenlets.h"
#include "device_modules.h"
#include "jax_compiler.h"
#include "readers.h"
#include "record_calls.h"

/* Lets functions count that such a module pickles by value, and those that it unpickles. Does nothing about an exception:
 * it may be another module of that name. */
static void meet_pickler(struct clp_recorder *recorder, PyObject *module)
{
    PyObject *helper = clp_compat_own_module("clineprof._by_value");
    PyObject *result = helper != NULL ? PyObject_CallMethod(helper, "meet", "O", module) : NULL;

    (void)recorder;
    Py_XDECREF(helper);
    Py_XDECREF(result);
}

/* The modules that matter, and what is done for each. */
static const struct interest {
    const char *module;
    void (*meet)(struct clp_recorder *recorder, PyObject *module);
    bool copies; /* other packages carry copies of the module, below a name of their own */
} interests[] = {
    {"greenlet._greenlet", clp_greenlets_meet, false},
    {"greenlet", clp_greenlets_meet, false}, /* before greenlet 1.0 there was no other module */
    {CLP_READERS_DYNAMO, clp_readers_meet_dynamo, false},
    {CLP_COMPILERS_TORCH, clp_compilers_meet_torch, false},
    {CLP_COMPILERS_NUMBA_EVENTS, clp_compilers_meet_numba_events, false},
    {CLP_COMPILERS_NUMBA, clp_compilers_meet_numba, false},
    {CLP_COMPILERS_SCRIPT, clp_compilers_meet_script, false},
    {CLP_COMPILERS_TRACE, clp_compilers_meet_trace, false},
    {CLP_JAX_COMPILER_MODULE, clp_jax_compiler_meet, false},
    {CLP_RECORD_CALLS_MODULE, clp_record_calls_meet, false},
    {"cloudpickle.cloudpickle", meet_pickler, true},
    {"cloudpickle.cloudpickle_fast", meet_pickler, true}, /* before cloudpickle 3.0 */
    {"dill._dill", meet_pickler, true},
};

#define INTERESTS (sizeof interests / sizeof *interests)

/* Is it the module's name, or the end of it where the interest is in copies, too? */
static bool is_named(const char *name, const struct interest *interest)
{
    size_t bytes = strlen(name), end = strlen(interest->module);
    const char *at = bytes >= end ? name + bytes - end : NULL;

    return at != NULL && strcmp(at, interest->module) == 0 && (at == name || (interest->copies && at[-1] == '.'));
}

static void meet(struct clp_recorder *recorder, PyObject *module)
{
    PyObject *name = PyModule_Check(module) ? PyModule_GetNameObject(module) : NULL;
    const char *text = name != NULL ? PyUnicode_AsUTF8(name) : NULL;

    for (size_t i = 0; text != NULL && i < INTERESTS; i++) {
        if (is_named(text, &interests[i]))
            interests[i].meet(recorder, module);
        PyErr_Clear();
    }
    if (text != NULL)
        clp_device_modules_meet(text, module);
    PyErr_Clear();
    Py_XDECREF(name);
}

static void meet_loaded(struct clp_recorder *recorder)
{
    PyObject *modules = PyDict_Values(PyImport_GetModuleDict());

    for (Py_ssize_t i = 0; modules != NULL && i < PyList_GET_SIZE(modules); i++)
        meet(recorder, PyList_GET_ITEM(modules, i));
    PyErr_Clear();
    Py_XDECREF(modules);
}

/* ---- loaders ---- */

/* A class of the interpreter's loaders; classes below it inherit its exec_module. */
struct loader {
    const char *name;
    /* Owned: the class, its exec_module, and the method that replaces it; NULL: not looked for yet. */
    PyObject *class, *own, *ours;
    bool put; /* our method is set, or what was set since then calls it */
};

/* What is exchanged. It is one for the process, as the interpreter's loaders are; and a method descriptor has
 * no room for data of its own. */
static struct {
    struct clp_recorder *recorder; /* borrowed; NULL: nobody ever watched */
    struct loader loaders[2];
    void (*loaded)(void *data, PyObject *module); /* is told of extension modules, with `data`; NULL: nobody is */
    void *data;
    bool met; /* what must be done was done for all modules that were loaded when the watching began */
    bool on;
} watching = {.loaders = {{.name = "ExtensionFileLoader"}, {.name = "_LoaderBasics"}}};

#define EXTENSIONS 0 /* the place of ExtensionFileLoader */
#define LOADERS (sizeof watching.loaders / sizeof *watching.loaders)

static bool is_of(PyObject *loader, const struct loader *place)
{
    return place->ours != NULL && PyObject_TypeCheck(loader, PyDescr_TYPE(place->ours));
}

/* The exec_module of the loader's class itself, a new reference; NULL: the loader is of neither class. */
static PyObject *own_method(PyObject *loader)
{
    for (size_t i = 0; i < LOADERS; i++) {
        if (is_of(loader, &watching.loaders[i]))
            return Py_XNewRef(watching.loaders[i].own);
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
    if (result != NULL && watching.on && watching.loaded != NULL && is_of(loader, &watching.loaders[EXTENSIONS]))
        watching.loaded(watching.data, module);
    return result;
}

static PyMethodDef exec_module_method = {"exec_module", exec_module, METH_O, NULL};

/* A loader class by its name, a new reference; NULL where there is none. */
static PyObject *loader_class(const char *name)
{
    PyObject *holder = PyImport_ImportModule("_frozen_importlib_external");
    PyObject *class = holder != NULL ? PyObject_GetAttrString(holder, name) : NULL;

    Py_XDECREF(holder);
    return class;
}

/* Keeps `found` (or NULL), which it takes over, unless another thread has set *place meanwhile. */
static void keep(PyObject **place, PyObject *found)
{
    if (*place == NULL)
        *place = found;
    else
        Py_XDECREF(found);
}

/* Sets our exec_module. A method that the program has set since ours was taken away now counts as the loader's
 * own. */
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

/* Exchanges exec_module for a method descriptor, as methods written in C are: of other callables the
 * interpreter tells cProfile only the end. */
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
    if (recorder->windows == 0) /* the last window was closed meanwhile */
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

void clp_modules_tell(void (*loaded)(void *data, PyObject *module), void *data)
{
    watching.loaded = loaded;
    watching.data = data;
}

void clp_modules_tell_no_more(const void *data)
{
    if (watching.data == data)
        watching.loaded = NULL;
}
