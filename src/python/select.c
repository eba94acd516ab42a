/* SPDX-License-Identifier: MIT */
#include "select.h"
#include "texts.h"
#include "tracer.h"

/* Wrappers within wrappers: deeper ones are surely circular. */
#define DEEPEST 64

struct selection {
    struct clp_window *window;
    PyObject *texts; /* borrowed */
    PyObject *class; /* borrowed: the one at hand, or NULL */
    int found;
};

static bool select_inside(struct selection *selection, PyObject *object, int depth);

/* The attribute of an object that leads further in; NULL without an exception when it has none. */
static PyObject *inner(PyObject *object, const char *name)
{
    PyObject *found = PyObject_GetAttrString(object, name);

    if (found == NULL)
        PyErr_Clear(); /* whatever the object's own code raised: it leads nowhere */
    if (found == Py_None)
        Py_CLEAR(found);
    return found;
}

/* Owned; NULL when it has none, or it is no text. */
static PyObject *text_of(PyObject *class, const char *name)
{
    PyObject *text = inner(class, name);

    if (text != NULL && !PyUnicode_Check(text))
        Py_CLEAR(text);
    return text;
}

/* Do the two, functions or classes, come from one module? Not known: no. */
static bool is_of_same_module(PyObject *one, PyObject *other)
{
    PyObject *module = text_of(one, "__module__"), *other_module = text_of(other, "__module__");
    bool same = module != NULL && other_module != NULL &&
                PyUnicode_Compare(module, other_module) == 0;

    PyErr_Clear();
    Py_XDECREF(module);
    Py_XDECREF(other_module);
    return same;
}

/* Is it called OUTER.something, as what is defined in that class? */
static bool is_named_within(PyObject *object, PyObject *outer)
{
    PyObject *name = text_of(object, "__qualname__"), *outer_name = text_of(outer, "__qualname__");
    PyObject *start = outer_name != NULL ? PyUnicode_FromFormat("%U.", outer_name) : NULL;
    bool within = name != NULL && start != NULL &&
                  PyUnicode_Tailmatch(name, start, 0, PY_SSIZE_T_MAX, -1) == 1;

    PyErr_Clear();
    Py_XDECREF(name);
    Py_XDECREF(outer_name);
    Py_XDECREF(start);
    return within;
}

static bool select_function(struct selection *selection, PyObject *function)
{
    PyObject *class = selection->class;

    /* what enum, say, puts into each class would count for all who have it */
    if (class != NULL && !is_named_within(function, class) && !is_of_same_module(function, class))
        return true;
    /* held, because the tracer may give the function other code; the code itself is not: whoever
     * holds it makes it shared (shared.h) */
    PyObject *file = Py_NewRef(((PyCodeObject *)PyFunction_GetCode(function))->co_filename);
    PyObject *name = PyObject_GetAttrString(function, "__qualname__");
    bool done = name != NULL && clp_tracer_select(selection->window, function, name) &&
                clp_texts_note(selection->texts, file, PyFunction_GetGlobals(function));

    Py_XDECREF(name);
    Py_DECREF(file);
    selection->found += done;
    return done;
}

/* Everything callable in the class's own dict, in classes that are defined there too; what it inherits
 * is another class's. */
static bool select_class(struct selection *selection, PyObject *class, int depth)
{
    PyObject *names = clp_compat_class_dict(class);
    PyObject *list = names != NULL ? PyDict_Values(names) : NULL;
    PyObject *outer = selection->class;
    bool done = list != NULL;

    selection->class = class;
    for (Py_ssize_t i = 0; done && i < PyList_GET_SIZE(list); i++) {
        PyObject *value = PyList_GET_ITEM(list, i);
        if (!PyType_Check(value) ||
            (is_named_within(value, class) && is_of_same_module(value, class)))
            done = select_inside(selection, value, depth + 1);
    }
    selection->class = outer;
    Py_XDECREF(names);
    Py_XDECREF(list);
    return done;
}

static bool is_module_member(PyObject *object, const char *module, const char *name)
{
    PyObject *type = (PyObject *)Py_TYPE(object);
    PyObject *type_module = inner(type, "__module__");
    bool same = type_module != NULL && PyUnicode_Check(type_module) &&
                PyUnicode_CompareWithASCIIString(type_module, module) == 0 &&
                strcmp(strrchr(Py_TYPE(object)->tp_name, '.') != NULL
                           ? strrchr(Py_TYPE(object)->tp_name, '.') + 1
                           : Py_TYPE(object)->tp_name,
                       name) == 0;

    Py_XDECREF(type_module);
    return same;
}

static bool follow(struct selection *selection, PyObject *object, const char *const *names,
                   int depth)
{
    bool done = true;

    for (; *names != NULL && done; names++) {
        PyObject *next = inner(object, *names);
        if (next != NULL)
            done = select_inside(selection, next, depth + 1);
        Py_XDECREF(next);
    }
    return done;
}

static bool select_inside(struct selection *selection, PyObject *object, int depth)
{
    static const char *const property[] = {"fget", "fset", "fdel", NULL};
    static const char *const partial[] = {"func", NULL};
    static const char *const method[] = {"__func__", NULL};
    static const char *const wrapper[] = {"__wrapped__", NULL};

    if (depth > DEEPEST)
        return true;
    if (PyObject_TypeCheck(object, &PyProperty_Type))
        return follow(selection, object, property, depth);
    if (is_module_member(object, "functools", "partial") ||
        is_module_member(object, "functools", "partialmethod") ||
        is_module_member(object, "functools", "singledispatchmethod") ||
        is_module_member(object, "functools", "cached_property"))
        return follow(selection, object, partial, depth);
    if (PyMethod_Check(object) || PyObject_TypeCheck(object, &PyStaticMethod_Type) ||
        PyObject_TypeCheck(object, &PyClassMethod_Type))
        return follow(selection, object, method, depth);
    if (PyType_Check(object))
        return select_class(selection, object, depth);
    /* a decorated function below its decorators: the body is what the user wants to see */
    int found = selection->found;
    if (!follow(selection, object, wrapper, depth))
        return false;
    if (selection->found == found && PyFunction_Check(object))
        return select_function(selection, object);
    return true;
}

int clp_select_object(struct clp_window *window, PyObject *texts, PyObject *object)
{
    struct selection selection = {.window = window, .texts = texts};

    return select_inside(&selection, object, 0) ? selection.found : -1;
}
