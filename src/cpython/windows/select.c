/* SPDX-License-Identifier: MIT */
#include "select.h"
#include "cpython/compat/inner_code.h"
#include "cython_selecting.h"
#include "selecting.h"

/* The most wrappers within wrappers: deeper ones are surely circular. */
#define DEEPEST 64

struct selection {
    struct clp_code_window *window;
    const struct clp_selecting *how;
    PyObject *class;    /* borrowed: the class whose members are selected now, or NULL */
    PyObject *left_out; /* borrowed: a list of names of its functions that are not selected */
    int met; /* how many functions were found, including those left out */
};

static bool select_inside(struct selection *selection, PyObject *object, int depth);

/* The attribute of an object that leads further inside, a new reference; NULL without an exception if there is
 * none. */
static PyObject *inner(PyObject *object, const char *name)
{
    PyObject *found = PyObject_GetAttrString(object, name);

    if (found == NULL)
        PyErr_Clear(); /* whatever the object's own code has raised: this attribute leads nowhere */
    if (found == Py_None)
        Py_CLEAR(found);
    return found;
}

/* A text attribute, a new reference; NULL if there is none, or it is no str. */
static PyObject *text_of(PyObject *class, const char *name)
{
    PyObject *text = inner(class, name);

    if (text != NULL && !PyUnicode_Check(text))
        Py_CLEAR(text);
    return text;
}

/* Do the two, functions or classes, come from one module? No if a module is not known. */
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

/* Is the object's qualified name OUTER.something, as if it were defined in the class `outer`? */
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

/* The path of the file of the class's module, a new reference; NULL: it has none, or the module is not known. */
static PyObject *file_of_class(PyObject *class)
{
    PyObject *name = text_of(class, "__module__");
    PyObject *module = name != NULL ? PyImport_GetModule(name) : NULL;
    PyObject *file = module != NULL ? text_of(module, "__file__") : NULL;

    PyErr_Clear();
    Py_XDECREF(name);
    Py_XDECREF(module);
    return file;
}

/* Does the code say that it stands in another function's body, or in none? The methods that dataclasses and
 * similar tools make come from a text of these tools, and those of collections.namedtuple from its own
 * functions. */
static bool is_defined_elsewhere(PyCodeObject *code, PyObject *function, PyObject *class)
{
#if CLP_CODE_HAS_QUALNAME
    PyObject *outer = text_of(class, "__qualname__");
    PyObject *start = outer != NULL ? PyUnicode_FromFormat("%U.", outer) : NULL;
    bool elsewhere = start != NULL &&
                     PyUnicode_Tailmatch(code->co_qualname, start, 0, PY_SSIZE_T_MAX, -1) == 0;

    (void)function;
    PyErr_Clear();
    Py_XDECREF(outer);
    Py_XDECREF(start);
    return elsewhere;
#else
    PyObject *globals = PyFunction_GetGlobals(function);
    PyObject *module = PyDict_GetItemString(globals, "__name__"); /* borrowed */

    (void)class;
    return PyUnicode_READ_CHAR(code->co_filename, 0) == '<' ||
           (module != NULL && PyUnicode_Check(module) &&
            PyUnicode_CompareWithASCIIString(module, "collections") == 0);
#endif
}

/* Was the function made for the class from a text other than the class's own? */
static bool is_generated(PyObject *function, PyObject *class)
{
    PyCodeObject *code = (PyCodeObject *)Py_NewRef(PyFunction_GetCode(function));
    PyObject *file = file_of_class(class);
    bool generated;

    if (file != NULL)
        generated = PyUnicode_Compare(file, code->co_filename) != 0;
    else
        generated = PyUnicode_CompareWithASCIIString(code->co_filename, "<string>") == 0;
    generated = generated && PyUnicode_GET_LENGTH(code->co_filename) > 0 &&
                is_defined_elsewhere(code, function, class);
    PyErr_Clear();
    Py_XDECREF(file);
    Py_DECREF(code);
    return generated;
}

/* Is the function found in the class, but not the class's own? What enum, for example, puts into each class
 * would count for all classes that have it. */
static bool is_foreign(const struct selection *selection, PyObject *function)
{
    PyObject *class = selection->class;

    return class != NULL &&
           ((!is_named_within(function, class) && !is_of_same_module(function, class)) ||
            is_generated(function, class));
}

static bool select_function(struct selection *selection, PyObject *function)
{
    if (selection->class != NULL &&
        clp_inner_code_is_part_of_line((PyCodeObject *)PyFunction_GetCode(function)))
        return true;
    PyObject *name = PyObject_GetAttrString(function, "__qualname__");
    bool done = name != NULL;

    selection->met++;
    if (done && is_foreign(selection, function)) {
        PyObject *short_name = PyObject_GetAttrString(function, "__name__");
        done = short_name != NULL && PyList_Append(selection->left_out, short_name) == 0;
        Py_XDECREF(short_name);
    } else if (done) {
        done = clp_tracer_select(selection->window, function, name, selection->how->with_inner);
    }
    Py_XDECREF(name);
    return done;
}

/* How many names of functions that are left out are told for each class. */
#define NAMES_TOLD 4

static bool tell_left_out(const struct selection *selection, PyObject *class)
{
    Py_ssize_t count = PyList_GET_SIZE(selection->left_out);
    PyObject *first = PyList_GetSlice(selection->left_out, 0, NAMES_TOLD);
    PyObject *comma = PyUnicode_FromString(", ");
    PyObject *names = first != NULL && comma != NULL ? PyUnicode_Join(comma, first) : NULL;
    PyObject *class_name = names != NULL ? PyObject_GetAttrString(class, "__qualname__") : NULL;
    PyObject *line = NULL;
    if (class_name != NULL)
        line = PyUnicode_FromFormat("class %S: %zd function%s not profiled, for the code does not stand in the "
                                    "class: %U%s", class_name, count, count == 1 ? " is" : "s are", names,
                                    count > NAMES_TOLD ? ", .." : "");
    bool done = line != NULL && PyList_Append(selection->how->left_out, line) == 0;

    Py_XDECREF(first);
    Py_XDECREF(comma);
    Py_XDECREF(names);
    Py_XDECREF(class_name);
    Py_XDECREF(line);
    return done;
}

static bool select_members(struct selection *selection, PyObject *class, int depth)
{
    PyObject *names = clp_compat_class_dict(class);
    PyObject *list = names != NULL ? PyDict_Values(names) : NULL;
    bool done = list != NULL;

    for (Py_ssize_t i = 0; done && i < PyList_GET_SIZE(list); i++) {
        PyObject *value = PyList_GET_ITEM(list, i);
        if (!PyType_Check(value) ||
            (is_named_within(value, class) && is_of_same_module(value, class)))
            done = select_inside(selection, value, depth + 1);
    }
    Py_XDECREF(names);
    Py_XDECREF(list);
    return done;
}

/* Selects everything callable in the class's own dict, and in classes that are defined there. What the class
 * inherits belongs to another class. */
static bool select_class(struct selection *selection, PyObject *class, int depth)
{
    struct selection inside = *selection;

    inside.class = class;
    inside.left_out = PyList_New(0);
    bool done = inside.left_out != NULL && select_members(&inside, class, depth) &&
                (selection->how->left_out == NULL || PyList_GET_SIZE(inside.left_out) == 0 ||
                 tell_left_out(&inside, class));
    selection->met = inside.met;
    Py_XDECREF(inside.left_out);
    return done;
}

/* Is it an object of the class with this name in functools? */
static bool is_of_functools(PyObject *object, const char *wanted)
{
    PyObject *type = (PyObject *)Py_TYPE(object);
    PyObject *module = text_of(type, "__module__"), *name = text_of(type, "__name__");
    bool is = module != NULL && name != NULL &&
              PyUnicode_CompareWithASCIIString(module, "functools") == 0 &&
              PyUnicode_CompareWithASCIIString(name, wanted) == 0;

    Py_XDECREF(module);
    Py_XDECREF(name);
    return is;
}

/* Is it one of functools' wrappers that have the wrapped function as `func`? */
static bool is_wrapper_of_func(PyObject *object)
{
    static const char *const names[] = {"partial", "partialmethod", "cached_property", NULL};
    bool found = false;

    for (size_t i = 0; names[i] != NULL && !found; i++)
        found = is_of_functools(object, names[i]);
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

/* Was it made by functools.singledispatch, which keeps the implementations as `registry`? */
static bool is_generic(PyObject *object)
{
    PyObject *registry = PyFunction_Check(object) ? inner(object, "registry") : NULL;
    bool is = registry != NULL && PyObject_TypeCheck(registry, &PyDictProxy_Type);

    Py_XDECREF(registry);
    return is;
}

/* Selects the implementations of a generic function, and lets those be selected that are registered later. */
static bool select_implementations(struct selection *selection, PyObject *generic, int depth)
{
    PyObject *registry = PyObject_GetAttrString(generic, "registry");
    PyObject *list = registry != NULL ? PyMapping_Values(registry) : NULL;
    PyObject *helper = NULL, *result = NULL;
    bool done = list != NULL;

    for (Py_ssize_t i = 0; done && i < PyList_GET_SIZE(list); i++)
        done = select_inside(selection, PyList_GET_ITEM(list, i), depth + 1);
    Py_XDECREF(registry);
    Py_XDECREF(list);
    if (!done || selection->how->profiler == NULL)
        return done;
    helper = clp_compat_own_module("clineprof._boot.registering");
    if (helper != NULL)
        result = PyObject_CallMethod(helper, "follow", "OO", generic, selection->how->profiler);
    Py_XDECREF(helper);
    Py_XDECREF(result);
    return result != NULL;
}

/* The mark stands above a getter in the body of a class, which runs now. Selects the setter and the deleter that stand
 * below it there: they will be in another property, which is made of this one. */
static bool select_later_accessors(struct selection *selection, PyObject *property)
{
    PyFrameObject *frame = PyEval_GetFrame(); /* borrowed */
    PyObject *getter = frame != NULL ? inner(property, "fget") : NULL;
    PyObject *name = getter != NULL && PyFunction_Check(getter) ? inner(getter, "__qualname__") : NULL;
    PyCodeObject *definer = name != NULL ? PyFrame_GetCode(frame) : NULL;
    bool done = definer == NULL || (definer->co_flags & CO_OPTIMIZED) != 0 ||
                clp_tracer_select_later(selection->window, definer, getter, name);

    Py_XDECREF(getter);
    Py_XDECREF(name);
    Py_XDECREF(definer);
    return done;
}

static bool select_cython(struct selection *selection, PyObject *function)
{
    bool seen = clp_cython_missing(selection->window->recorder) == NULL;
    int selected = seen ? clp_cython_select(selection->window, function) : 0;

    selection->met += selected > 0;
    return selected >= 0;
}

static bool select_inside(struct selection *selection, PyObject *object, int depth)
{
    static const char *const property[] = {"fget", "fset", "fdel", NULL};
    static const char *const func[] = {"func", NULL};
    static const char *const method[] = {"__func__", NULL};
    static const char *const wrapper[] = {"__wrapped__", NULL};
    static const char *const dispatcher[] = {"dispatcher", NULL};

    if (depth > DEEPEST)
        return true;
    if (PyObject_TypeCheck(object, &PyProperty_Type))
        return follow(selection, object, property, depth) &&
               (depth > 0 || selection->how->profiler == NULL || select_later_accessors(selection, object));
    if (is_wrapper_of_func(object))
        return follow(selection, object, func, depth);
    if (is_of_functools(object, "singledispatchmethod"))
        return follow(selection, object, dispatcher, depth);
    if (is_generic(object))
        return select_implementations(selection, object, depth);
    if (PyMethod_Check(object) || PyObject_TypeCheck(object, &PyStaticMethod_Type) ||
        PyObject_TypeCheck(object, &PyClassMethod_Type))
        return follow(selection, object, method, depth);
    if (PyType_Check(object))
        return select_class(selection, object, depth);
    /* a decorated function lies inside its decorators; its own body is what the user wants to see */
    int met = selection->met;
    if (!follow(selection, object, wrapper, depth))
        return false;
    if (selection->met == met && PyFunction_Check(object))
        return select_function(selection, object);
    if (selection->met == met && clp_cython_is(object))
        return select_cython(selection, object);
    return true;
}

int clp_select_object(struct clp_code_window *window, PyObject *object,
                      const struct clp_selecting *selecting)
{
    struct selection selection = {.window = window, .how = selecting};

    return select_inside(&selection, object, 0) ? selection.met : -1;
}
