/* SPDX-License-Identifier: MIT */
#include "prepare.h"
#include "decorators.h"
#include "cpython/compat/inner_code.h"
#include "cpython/tracers/attach.h"
#include "selecting.h"
#include "cpython/tracers/tracer.h"

struct preparation {
    struct clp_code_window *window;
    struct clp_recorder *recorder; /* the window's */
    const struct clp_chooser *chooser; /* may be NULL */
    uint32_t text; /* number of the source text, where it is wanted */
};

/* ---- what is to be done ---- */

static bool chooses(const struct preparation *preparation, PyCodeObject *code, PyObject *name)
{
    return preparation->chooser != NULL && clp_chooser_takes(preparation->chooser, code, name);
}

/* Does the code, or code within it, use the name `profile`? Most code does not. */
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

/* Is nothing to be done for this code, nor for code within it? */
static bool is_untouched(const struct preparation *preparation, PyCodeObject *code)
{
    return preparation->chooser == NULL &&
           (preparation->recorder->tracer->install == NULL || !mentions_profile(code));
}

/* Makes a copy with probes of code that nobody has selected yet; the code itself when the tracer refuses it.
 * Takes over the reference to the code. */
static PyObject *with_probes(const struct preparation *preparation, PyObject *code)
{
    struct clp_recorder *recorder = preparation->recorder;
    struct clp_selected original = {.recorder = recorder, .function = CLP_UNSELECTED,
                                    .text = preparation->text};
    const char *reason;

    if (!clp_attach_read_shape(recorder, (PyCodeObject *)code, preparation->text, &original.shape)) {
        Py_DECREF(code);
        return NULL;
    }
    enum clp_selection outcome =
        recorder->tracer->select(recorder, (PyCodeObject *)code, &original, &reason);
    clp_code_lines_clear(&original.shape, &recorder->mem);
    if (outcome == CLP_SELECTION_REFUSED)
        return code;
    Py_DECREF(code);
    return original.copy;
}

static bool is_module(PyCodeObject *code)
{
    return PyUnicode_CompareWithASCIIString(code->co_name, "<module>") == 0;
}

static bool is_decorated(const struct clp_decorators *decorators, PyCodeObject *code)
{
    return (code->co_flags & CO_OPTIMIZED) != 0 &&
           clp_decorators_have_profile(decorators, code);
}

enum treatment { LEAVE, PROBE, SELECT };

/* The code within which code is treated. */
struct within {
    const struct preparation *preparation;
    PyCodeObject *code;
    PyObject *name;
    bool is_marked; /* the code is decorated with `profile`, or lies within code that is */
    struct clp_decorators decorators;
};

/* Does a decorated function of the same name stand above in the body of a class? Behind a property's getter this is
 * its setter or deleter. */
static bool follows_decorated(const struct within *within, PyCodeObject *code)
{
    if (within->decorators.count == 0 || (within->code->co_flags & CO_OPTIMIZED) != 0 || is_module(within->code))
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(within->code->co_consts); i++) {
        PyObject *item = PyTuple_GET_ITEM(within->code->co_consts, i);
        if (item == (PyObject *)code)
            return false;
        if (PyCode_Check(item) && PyUnicode_Compare(((PyCodeObject *)item)->co_name, code->co_name) == 0 &&
            is_decorated(&within->decorators, (PyCodeObject *)item))
            return true;
    }
    return false;
}

/* Is the code decorated with `profile`, or does it lie within code that is? */
static bool is_marked(const struct within *within, PyCodeObject *code, PyObject *name)
{
    return is_decorated(&within->decorators, code) || follows_decorated(within, code) ||
           (within->is_marked &&
            clp_code_window_wants_within(within->preparation->window, code, name));
}

static PyObject *prepared(const struct preparation *preparation, PyObject *code, PyObject *name,
                          bool is_marked);

/* The code as it must run, with all code within it. A new reference. */
static PyObject *treated(const struct within *within, PyObject *code, PyObject *name)
{
    const struct preparation *preparation = within->preparation;
    bool marked = is_marked(within, (PyCodeObject *)code, name);
    bool probes = marked && preparation->recorder->tracer->install != NULL;
    enum treatment treatment = chooses(preparation, (PyCodeObject *)code, name) ? SELECT
                               : probes                                         ? PROBE
                                                                                : LEAVE;
    struct clp_selected *announced = NULL;

    if (treatment == SELECT)
        announced = clp_tracer_announce_code(preparation->window, code, name, preparation->text);
    if (treatment == SELECT && announced == NULL)
        return NULL;
    PyObject *inner = prepared(preparation, code, name, marked);
    if (inner == NULL)
        clp_recorder_drop_selected(announced);
    if (inner == NULL || treatment == LEAVE)
        return inner;
    if (treatment == PROBE)
        return with_probes(preparation, inner);
    PyObject *selected = clp_tracer_select_code(preparation->recorder, inner, announced);
    Py_DECREF(inner);
    return selected;
}

/* ---- code and the code within it ---- */

static PyObject *treated_within(void *data, PyObject *inner)
{
    const struct within *within = data;
    PyObject *name = clp_inner_code_name((PyCodeObject *)inner, within->code, within->name);
    PyObject *new = name != NULL ? treated(within, inner, name) : NULL;

    Py_XDECREF(name);
    return new;
}

/* The code with all code within it treated, but not treated itself. A new reference. */
static PyObject *prepared(const struct preparation *preparation, PyObject *code, PyObject *name,
                          bool is_marked)
{
    struct within within = {preparation, (PyCodeObject *)code, name, is_marked, {0}};

    if (!is_marked && is_untouched(preparation, within.code))
        return Py_NewRef(code);
    clp_decorators_init(&within.decorators, preparation->recorder, within.code);
    PyObject *new = clp_inner_code_replaced(code, treated_within, &within);
    clp_decorators_clear(&within.decorators);
    return new;
}

static PyObject *prepare_code(const struct preparation *preparation, PyObject *code)
{
    const struct within nothing = {.preparation = preparation};
    PyObject *name = clp_inner_code_name((PyCodeObject *)code, NULL, NULL);
    PyObject *new = name != NULL ? treated(&nothing, code, name) : NULL;

    Py_XDECREF(name);
    return new;
}

/* Must the text be known? Selecting needs it, and so do probes where statements count. */
static bool wants_text(const struct preparation *preparation, PyObject *code)
{
    return preparation->chooser != NULL || (preparation->recorder->statements != NULL &&
                                            !is_untouched(preparation, (PyCodeObject *)code));
}

/* Begins a change of the window's code, after finding the code's text. False: there is nothing to change, or an
 * exception is set. */
static bool begin(struct preparation *preparation, PyObject *code, PyObject *globals, bool fresh)
{
    struct clp_recorder *recorder = preparation->recorder;

    if (recorder->tracer == NULL ||
        (wants_text(preparation, code) &&
         !clp_tracer_read_text(recorder, (PyCodeObject *)code, globals, fresh, &preparation->text)))
        return false;
    if (clp_code_window_hold(preparation->window))
        return true;
    PyErr_Clear(); /* another thread has closed the window meanwhile */
    return false;
}

PyObject *clp_prepare_code(struct clp_code_window *window, PyObject *code,
                           const struct clp_chooser *chooser, PyObject *globals)
{
    struct preparation preparation = {window, window->recorder, chooser, CLP_TEXT_NONE};

    if (!begin(&preparation, code, globals, true))
        return PyErr_Occurred() ? NULL : Py_NewRef(code);
    PyObject *new = prepare_code(&preparation, code);
    clp_code_window_release(window);
    return new;
}

/* Selects a function for a window that is closed. The function, and all that are made of the code within it, keep their
 * own code until the window opens, and get it back when it closes. */
static bool select_in_place(const struct preparation *preparation, PyObject *function, PyObject *name)
{
    struct clp_code_window *window = preparation->window;
    const struct clp_chooser *within = window->within;

    window->within = preparation->chooser;
    bool done = clp_tracer_select_within(window, function, name, preparation->text, true);
    window->within = within;
    return done;
}

static bool prepare_function(const struct preparation *preparation, PyObject *function)
{
    PyObject *code = Py_NewRef(PyFunction_GetCode(function));
    PyObject *name = PyObject_GetAttrString(function, "__qualname__");
    PyObject *new = NULL;
    bool done = false;

    if (name != NULL && PyUnicode_Check(name) && !preparation->window->open &&
        chooses(preparation, (PyCodeObject *)code, name)) {
        Py_CLEAR(code); /* code that is held here would count as shared (shared.h) */
        done = select_in_place(preparation, function, name);
    } else if (name != NULL && PyUnicode_Check(name))
        new = prepared(preparation, code, name, false);
    if (new != NULL)
        done = new == code || PyObject_SetAttrString(function, "__code__", new) == 0;
    if (done && new != NULL && chooses(preparation, (PyCodeObject *)code, name)) {
        Py_CLEAR(code); /* code that is held here would count as shared (shared.h) */
        Py_CLEAR(new);
        done = clp_tracer_select_within(preparation->window, function, name, preparation->text,
                                        false);
    }
    Py_XDECREF(new);
    Py_XDECREF(name);
    Py_XDECREF(code);
    return done;
}

bool clp_prepare_function(struct clp_code_window *window, PyObject *function,
                          const struct clp_chooser *chooser)
{
    struct preparation preparation = {window, window->recorder, chooser, CLP_TEXT_NONE};
    PyObject *code = Py_NewRef(PyFunction_GetCode(function));
    bool held = begin(&preparation, code, PyFunction_GetGlobals(function), false);
    bool done = held || !PyErr_Occurred();

    if (PyFunction_GetCode(function) != code) /* the function was given other code meanwhile */
        preparation.text = CLP_TEXT_NONE;
    Py_DECREF(code);
    if (!held)
        return done;
    done = prepare_function(&preparation, function);
    clp_code_window_release(window);
    return done;
}

/* ---- choosers ---- */

static bool chooses_all(void *data, PyCodeObject *code, const char *name)
{
    (void)data, (void)code, (void)name;
    return true;
}

/* Chooses what `def` defines: it has a body with fast locals, unlike a class, and a name, unlike a lambda.
 * Chooses the bodies of modules, too. */
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
