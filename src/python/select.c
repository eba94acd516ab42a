/* SPDX-License-Identifier: MIT */
#include "select.h"
#include "tracer.h"

/* Wrappers within wrappers: deeper ones are surely circular. */
#define DEEPEST 64

struct selection {
    struct clp_window *window;
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
    PyObject *name = PyObject_GetAttrString(function, "__qualname__");
    bool done = name != NULL && clp_tracer_select(selection->window, function, name);

    Py_XDECREF(name);
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

/* Is it one of functools' wrappers, which have what they wrap as `func`? */
static bool is_wrapper_of_func(PyObject *object)
{
    static const char *const names[] = {"partial", "partialmethod", "singledispatchmethod",
                                        "cached_property", NULL};
    PyObject *type = (PyObject *)Py_TYPE(object);
    PyObject *module = text_of(type, "__module__"), *name = text_of(type, "__name__");
    bool found = false;

    if (module != NULL && name != NULL && PyUnicode_CompareWithASCIIString(module, "functools") == 0)
        for (size_t i = 0; names[i] != NULL; i++)
            found |= PyUnicode_CompareWithASCIIString(name, names[i]) == 0;
    Py_XDECREF(module);
    Py_XDECREF(name);
    return found;
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
    static const char *const func[] = {"func", NULL};
    static const char *const method[] = {"__func__", NULL};
    static const char *const wrapper[] = {"__wrapped__", NULL};

    if (depth > DEEPEST)
        return true;
    if (PyObject_TypeCheck(object, &PyProperty_Type))
        return follow(selection, object, property, depth);
    if (is_wrapper_of_func(object))
        return follow(selection, object, func, depth);
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

int clp_select_object(struct clp_window *window, PyObject *object)
{
    struct selection selection = {.window = window};

    return select_inside(&selection, object, 0) ? selection.found : -1;
}
