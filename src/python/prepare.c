/* SPDX-License-Identifier: MIT */
#include "prepare.h"
#include "decorators.h"
#if PY_VERSION_HEX < 0x030B0000
#include <opcode.h>
#endif

struct preparation {
    struct clp_window *window;
    struct clp_recorder *recorder; /* the window's */
    const struct clp_chooser *chooser; /* or NULL */
};

/* ---- names ---- */

#if PY_VERSION_HEX < 0x030B0000

/* Does the code declare the name global? What it defines by that name is the module's. */
static bool declares_global(PyCodeObject *code, PyObject *name)
{
    const unsigned char *bytes = (const unsigned char *)PyBytes_AS_STRING(code->co_code);
    Py_ssize_t count = PyTuple_GET_SIZE(code->co_names), argument = 0;

    for (Py_ssize_t i = 0; i + 1 < PyBytes_GET_SIZE(code->co_code); i += 2) {
        argument = argument << 8 | bytes[i + 1];
        if (bytes[i] == EXTENDED_ARG)
            continue;
        if (bytes[i] == STORE_GLOBAL && argument < count &&
            PyUnicode_Compare(PyTuple_GET_ITEM(code->co_names, argument), name) == 0)
            return true;
        argument = 0;
    }
    return false;
}

/* 3.10 tells functions their qualified names, not code. */
static PyObject *qualified_name(PyCodeObject *code, PyCodeObject *within, PyObject *name_within)
{
    if (within == NULL || declares_global(within, code->co_name))
        return Py_NewRef(code->co_name);
    if ((within->co_flags & CO_OPTIMIZED) != 0)
        return PyUnicode_FromFormat("%U.<locals>.%U", name_within, code->co_name);
    if (PyUnicode_CompareWithASCIIString(name_within, "<module>") == 0)
        return Py_NewRef(code->co_name);
    return PyUnicode_FromFormat("%U.%U", name_within, code->co_name);
}

#else

static PyObject *qualified_name(PyCodeObject *code, PyCodeObject *within, PyObject *name_within)
{
    (void)within, (void)name_within;
    return Py_NewRef(code->co_qualname);
}

#endif

/* ---- what is to be done ---- */

static bool chooses(const struct preparation *preparation, PyCodeObject *code, PyObject *name)
{
    const struct clp_chooser *chooser = preparation->chooser;
    const char *text = chooser != NULL ? PyUnicode_AsUTF8(name) : NULL;

    if (text != NULL)
        return chooser->chooses(chooser->data, code, text);
    PyErr_Clear(); /* a name with half a surrogate pair is nobody's */
    return false;
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

/* Has nobody anything to do with this code, nor with code within it? */
static bool is_untouched(const struct preparation *preparation, PyCodeObject *code)
{
    return preparation->chooser == NULL &&
           (preparation->recorder->tracer->install == NULL || !mentions_profile(code));
}

/* The code with probes that nobody has selected yet; the same when the tracer refuses it. Takes the
 * code. */
static PyObject *with_probes(struct clp_recorder *recorder, PyObject *code)
{
    struct clp_selected original = {.recorder = recorder, .function = CLP_UNSELECTED};
    const char *reason;

    if (!clp_shape_init(&original.shape, &recorder->mem, (PyCodeObject *)code, &recorder->opcodes)) {
        Py_DECREF(code);
        return NULL;
    }
    enum clp_selection outcome =
        recorder->tracer->select(recorder, (PyCodeObject *)code, &original, &reason);
    clp_shape_clear(&original.shape, &recorder->mem);
    if (outcome == CLP_SELECTION_REFUSED)
        return code;
    Py_DECREF(code);
    return original.copy;
}

static bool is_decorated(const struct clp_decorators *decorators, PyCodeObject *code)
{
    return (code->co_flags & CO_OPTIMIZED) != 0 &&
           clp_decorators_have(decorators, code, CLP_DECORATOR_PROFILE);
}

enum treatment { LEAVE, LEAVE_CHOSEN, PROBE, SELECT };

/* Functions for a compiler are left to it, as they are. */
static enum treatment treatment_of(const struct preparation *preparation, PyCodeObject *code,
                                   PyObject *name, const struct clp_decorators *decorators)
{
    bool chosen = chooses(preparation, code, name);

    if (preparation->recorder->tracer->install == NULL)
        return chosen ? SELECT : LEAVE;
    if (clp_decorators_have(decorators, code, CLP_DECORATOR_COMPILES))
        return chosen ? LEAVE_CHOSEN : LEAVE;
    return chosen ? SELECT : is_decorated(decorators, code) ? PROBE : LEAVE;
}

static PyObject *prepared(const struct preparation *preparation, PyObject *code, PyObject *name);

/* The code as it is to run, and all code within it. Owned. */
static PyObject *treated(const struct preparation *preparation, PyObject *code, PyObject *name,
                         const struct clp_decorators *decorators)
{
    struct clp_recorder *recorder = preparation->recorder;
    enum treatment treatment = treatment_of(preparation, (PyCodeObject *)code, name, decorators);

    struct clp_selected *announced = NULL;

    if (treatment == SELECT &&
        (announced = clp_tracer_announce_code(preparation->window, code, name)) == NULL)
        return NULL;
    if (treatment == LEAVE_CHOSEN && !clp_tracer_leave_compiled(preparation->window, code, name))
        return NULL;
    PyObject *inner = prepared(preparation, code, name);
    if (inner == NULL)
        clp_recorder_drop_selected(announced);
    if (inner == NULL || treatment == LEAVE || treatment == LEAVE_CHOSEN)
        return inner;
    if (treatment == PROBE)
        return with_probes(recorder, inner);
    PyObject *selected = clp_tracer_select_code(recorder, inner, announced);
    Py_DECREF(inner);
    return selected;
}

/* ---- code and the code within it ---- */

/* A constant of `code`. Owned. */
static PyObject *prepared_constant(const struct preparation *preparation, PyObject *item,
                                   PyCodeObject *code, PyObject *name,
                                   const struct clp_decorators *decorators)
{
    if (!PyCode_Check(item))
        return Py_NewRef(item);
    PyObject *item_name = qualified_name((PyCodeObject *)item, code, name);
    PyObject *new = item_name != NULL ? treated(preparation, item, item_name, decorators) : NULL;
    Py_XDECREF(item_name);
    return new;
}

/* New constants; *changed when they differ. */
static PyObject *prepared_constants(const struct preparation *preparation, PyCodeObject *code,
                                    PyObject *name, bool *changed)
{
    Py_ssize_t count = PyTuple_GET_SIZE(code->co_consts);
    PyObject *constants = PyTuple_New(count);
    struct clp_decorators decorators;

    clp_decorators_init(&decorators, preparation->recorder, code);
    for (Py_ssize_t i = 0; constants != NULL && i < count; i++) {
        PyObject *item = PyTuple_GET_ITEM(code->co_consts, i);
        PyObject *new = prepared_constant(preparation, item, code, name, &decorators);
        *changed |= new != item;
        if (new == NULL)
            Py_CLEAR(constants);
        else
            PyTuple_SET_ITEM(constants, i, new);
    }
    clp_decorators_clear(&decorators);
    return constants;
}

/* The code with all code within it treated, but not itself. Owned. */
static PyObject *prepared(const struct preparation *preparation, PyObject *code, PyObject *name)
{
    bool changed = false;

    if (is_untouched(preparation, (PyCodeObject *)code))
        return Py_NewRef(code);
    PyObject *constants = prepared_constants(preparation, (PyCodeObject *)code, name, &changed);
    PyObject *copy = constants == NULL ? NULL
                     : changed ? clp_compat_with_constants((PyCodeObject *)code, constants)
                               : Py_NewRef(code);
    Py_XDECREF(constants);
    return copy;
}

PyObject *clp_prepare_code(struct clp_window *window, PyObject *code,
                           const struct clp_chooser *chooser)
{
    const struct preparation preparation = {window, window->recorder, chooser};
    const struct clp_decorators nothing = {0};

    if (window->recorder->tracer == NULL)
        return Py_NewRef(code);
    PyObject *name = qualified_name((PyCodeObject *)code, NULL, NULL);
    PyObject *new = name != NULL ? treated(&preparation, code, name, &nothing) : NULL;
    Py_XDECREF(name);
    return new;
}

bool clp_prepare_function(struct clp_window *window, PyObject *function,
                          const struct clp_chooser *chooser)
{
    const struct preparation preparation = {window, window->recorder, chooser};
    PyObject *code = Py_NewRef(PyFunction_GetCode(function));
    PyObject *name = PyObject_GetAttrString(function, "__qualname__");
    PyObject *new = NULL;
    bool done = false;

    if (name != NULL && PyUnicode_Check(name))
        new = prepared(&preparation, code, name);
    if (new != NULL)
        done = new == code || PyObject_SetAttrString(function, "__code__", new) == 0;
    if (done && new != NULL && chooses(&preparation, (PyCodeObject *)code, name)) {
        Py_CLEAR(code); /* whoever holds it makes it shared (shared.h) */
        Py_CLEAR(new);
        done = clp_tracer_select(window, function, name);
    }
    Py_XDECREF(new);
    Py_XDECREF(name);
    Py_XDECREF(code);
    return done;
}

/* ---- who is chosen ---- */

static bool is_module(PyCodeObject *code)
{
    return PyUnicode_CompareWithASCIIString(code->co_name, "<module>") == 0;
}

static bool chooses_all(void *data, PyCodeObject *code, const char *name)
{
    (void)data, (void)code, (void)name;
    return true;
}

/* What `def` defines has a body with fast locals, unlike a class, and a name, unlike a lambda. */
static bool chooses_functions(void *data, PyCodeObject *code, const char *name)
{
    (void)data, (void)name;
    return is_module(code) ||
           ((code->co_flags & CO_OPTIMIZED) != 0 && PyUnicode_GET_LENGTH(code->co_name) > 0 &&
            PyUnicode_READ_CHAR(code->co_name, 0) != '<');
}

static bool chooses_module(void *data, PyCodeObject *code, const char *name)
{
    (void)data, (void)name;
    return is_module(code);
}

const struct clp_chooser *clp_chooser_named(const char *name)
{
    static const struct clp_chooser all = {chooses_all, NULL}, functions = {chooses_functions, NULL},
                                    module = {chooses_module, NULL};

    if (strcmp(name, "all") == 0)
        return &all;
    if (strcmp(name, "functions") == 0)
        return &functions;
    if (strcmp(name, "module") == 0)
        return &module;
    PyErr_Format(PyExc_ValueError, "which is 'all', 'functions' or 'module', not '%s'", name);
    return NULL;
}
