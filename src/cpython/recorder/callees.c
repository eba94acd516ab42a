/* SPDX-License-Identifier: MIT */
#include "callees.h"
#include "base/buf.h"
#include <string.h>

#define MOST_WRAPPERS 4 /* a partial of a method of a function, for example */
#define MOST_KNOWN (1u << 16)

/* What is known of a callable before its name is made. */
struct seen {
    PyObject *object;  /* borrowed: whose name it is */
    const void *key;   /* an address that tells it apart from others while it lives */
    const char *tail;  /* the end of its name; borrowed. It tells when something else has got the address */
    enum clp_called_kind kind;
};

/* ---- texts ---- */

static const char *utf8_of(PyObject *name)
{
    const char *text = name != NULL && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;

    if (text == NULL)
        PyErr_Clear(); /* half a surrogate pair */
    return text != NULL ? text : "?";
}

/* Adds "module.", but not for what needs no import. */
static void add_module(struct clp_buf *text, PyObject *module)
{
    const char *name = module != NULL && PyUnicode_Check(module) ? utf8_of(module) : "builtins";

    if (strcmp(name, "builtins") == 0 || strcmp(name, "__main__") == 0)
        return;
    clp_buf_add_text(text, name);
    clp_buf_add_text(text, ".");
}

static const char *behind_last_dot(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot != NULL ? dot + 1 : name;
}

static void add_type(const struct clp_recorder *recorder, struct clp_buf *text, PyTypeObject *type)
{
    if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) {
        clp_buf_add_text(text, type->tp_name);
        return;
    }
    add_module(text, clp_compat_type_lookup(type, recorder->callees.module_name));
    clp_buf_add_text(text, utf8_of(((PyHeapTypeObject *)type)->ht_qualname));
}

static void add_c_function(const struct clp_recorder *recorder, struct clp_buf *text, const PyCFunctionObject *function)
{
    PyObject *self = function->m_self;

    if (self == NULL || PyModule_Check(self))
        add_module(text, function->m_module);
    else {
        add_type(recorder, text, PyType_Check(self) ? (PyTypeObject *)self : Py_TYPE(self));
        clp_buf_add_text(text, ".");
    }
    clp_buf_add_text(text, function->m_ml->ml_name);
}

static bool is_c_descriptor(PyObject *found)
{
    return found != NULL && (Py_TYPE(found) == &PyGetSetDescr_Type || Py_TYPE(found) == &PyMemberDescr_Type);
}

/* An attribute that the object's type, written in C, makes of the object: a new reference to a text, or NULL. */
static PyObject *c_attribute(PyObject *object, PyObject *name)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject *value = NULL;

    if (type->tp_getattro == PyObject_GenericGetAttr && is_c_descriptor(clp_compat_type_lookup(type, name)))
        value = PyObject_GenericGetAttr(object, name);
    PyErr_Clear();
    if (value != NULL && !PyUnicode_Check(value))
        Py_CLEAR(value);
    return value;
}

/* Adds the name of a C object that can be called, of a type that is no built-in one: "numpy.add". */
static void add_object(const struct clp_recorder *recorder, struct clp_buf *text, PyObject *object)
{
    PyObject *name = c_attribute(object, recorder->callees.name), *module = NULL;
    const char *type = Py_TYPE(object)->tp_name;

    if (name == NULL) {
        add_type(recorder, text, Py_TYPE(object));
        return;
    }
    module = c_attribute(object, recorder->callees.module_name);
    if (module != NULL)
        add_module(text, module);
    else
        clp_buf_add(text, type, (size_t)(behind_last_dot(type) - type));
    clp_buf_add_text(text, utf8_of(name));
    Py_DECREF(name);
    Py_XDECREF(module);
}

static bool is_descriptor(PyObject *object)
{
    return Py_TYPE(object) == &PyMethodDescr_Type || Py_TYPE(object) == &PyClassMethodDescr_Type ||
           Py_TYPE(object) == &PyWrapperDescr_Type;
}

/* The qualified name of a generator's code, borrowed. Since 3.14 a generator's own fields are hidden. */
static const char *name_of_code(PyObject *code)
{
#if CLP_CODE_HAS_QUALNAME
    return utf8_of(((PyCodeObject *)code)->co_qualname);
#else
    return utf8_of(((PyCodeObject *)code)->co_name);
#endif
}

static void add_name(const struct clp_recorder *recorder, struct clp_buf *text, PyObject *object)
{
    if (PyFunction_Check(object)) {
        add_module(text, ((PyFunctionObject *)object)->func_module);
        clp_buf_add_text(text, utf8_of(((PyFunctionObject *)object)->func_qualname));
    } else if (PyGen_CheckExact(object)) {
        clp_buf_add_text(text, name_of_code(clp_compat_generator_code(object)));
    } else if (PyCFunction_Check(object)) {
        add_c_function(recorder, text, (PyCFunctionObject *)object);
    } else if (is_descriptor(object)) {
        add_type(recorder, text, ((PyDescrObject *)object)->d_type);
        clp_buf_add_text(text, ".");
        clp_buf_add_text(text, utf8_of(((PyDescrObject *)object)->d_name));
    } else if (PyType_Check(object)) {
        add_type(recorder, text, (PyTypeObject *)object);
    } else {
        add_object(recorder, text, object);
    }
}

/* ---- numbers ---- */

static bool ends_with(const char *name, const char *tail)
{
    size_t bytes = strlen(name), end = strlen(tail);

    return bytes >= end && memcmp(name + bytes - end, tail, end) == 0;
}

static uint32_t add_callee(struct clp_recorder *recorder, const struct seen *seen)
{
    struct clp_buf text;
    uint32_t number = 0;

    clp_buf_init(&text, &recorder->mem);
    add_name(recorder, &text, seen->object);
    if (!text.failed)
        number = clp_callee_names_add(&recorder->engine.callee_names, clp_buf_text(&text), text.used);
    clp_buf_clear(&text);
    return number;
}

static bool number(struct clp_recorder *recorder, const struct seen *seen, struct clp_callee *callee)
{
    uint64_t key = (uintptr_t)seen->key, found;
    const char *known;

    callee->kind = seen->kind;
    if (clp_hashmap_get(&recorder->callees.known, key, &found) &&
        (known = clp_callee_names_get(&recorder->engine.callee_names, (uint32_t)found)) != NULL &&
        (seen->tail == NULL || ends_with(known, seen->tail))) {
        callee->name = (uint32_t)found;
        return true;
    }
    if (recorder->callees.known.count >= MOST_KNOWN) /* of a program that makes functions all the time */
        clp_callees_forget(recorder);
    callee->name = add_callee(recorder, seen);
    return callee->name != 0 && clp_hashmap_set(&recorder->callees.known, key, callee->name) == CLP_OK;
}

/* ---- kinds ---- */

static bool is_selected(const struct clp_recorder *recorder, PyObject *code)
{
    const struct clp_selected *selected = clp_recorder_selected(recorder, code);

    return selected != NULL && clp_recorder_counts(selected);
}

static bool of_function(struct clp_recorder *recorder, PyObject *function, struct clp_callee *callee)
{
    PyObject *code = PyFunction_GET_CODE(function);
    const struct seen seen = {function, code, utf8_of(((PyFunctionObject *)function)->func_qualname),
                              CLP_CALLED_LIBRARY};

    return !is_selected(recorder, code) && number(recorder, &seen, callee);
}

/* The Python function that the class has by this name, borrowed; NULL: none, or C code. */
static PyObject *python_method(PyTypeObject *type, PyObject *name)
{
    PyObject *found = (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 ? clp_compat_type_lookup(type, name) : NULL;

    if (found != NULL && Py_TYPE(found) == &PyStaticMethod_Type)
        found = clp_compat_static_function(found);
    return found != NULL && PyFunction_Check(found) ? found : NULL;
}

/* A class is called: what takes the time is what makes the object. */
static bool of_class(struct clp_recorder *recorder, PyTypeObject *type, struct clp_callee *callee)
{
    PyObject *const names[] = {recorder->callees.init, recorder->callees.make};
    struct seen seen = {(PyObject *)type, type, behind_last_dot(type->tp_name), CLP_CALLED_NATIVE};

    if (python_method(Py_TYPE(type), recorder->callees.call) != NULL)
        seen.kind = CLP_CALLED_LIBRARY;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        PyObject *function = python_method(type, names[i]);
        if (function == NULL)
            continue;
        if (is_selected(recorder, PyFunction_GET_CODE(function)))
            return false;
        seen.kind = CLP_CALLED_LIBRARY;
    }
    return number(recorder, &seen, callee);
}

static bool of_c_object(struct clp_recorder *recorder, PyObject *object, struct clp_callee *callee)
{
    bool named = is_c_descriptor(clp_compat_type_lookup(Py_TYPE(object), recorder->callees.name));
    const struct seen seen = {object, named ? (void *)object : (void *)Py_TYPE(object),
                              named ? NULL : behind_last_dot(Py_TYPE(object)->tp_name), CLP_CALLED_NATIVE};

    return number(recorder, &seen, callee);
}

/* The callable within, borrowed from it; NULL: it wraps none. */
static PyObject *unwrapped(struct clp_recorder *recorder, PyObject *callable)
{
    if (PyMethod_Check(callable))
        return PyMethod_GET_FUNCTION(callable);
    if (strcmp(Py_TYPE(callable)->tp_name, "functools.partial") == 0) {
        PyObject *function = PyObject_GenericGetAttr(callable, recorder->callees.func);
        if (function == NULL)
            PyErr_Clear();
        Py_XDECREF(function); /* the partial holds it */
        return function;
    }
    return python_method(Py_TYPE(callable), recorder->callees.call);
}

bool clp_callee_of(struct clp_recorder *recorder, PyObject *callable, struct clp_callee *callee)
{
    for (int i = 0; i < MOST_WRAPPERS; i++) {
        if (PyFunction_Check(callable))
            return of_function(recorder, callable, callee);
        if (PyCFunction_Check(callable))
            return number(recorder, &(struct seen){callable, ((PyCFunctionObject *)callable)->m_ml,
                                                   ((PyCFunctionObject *)callable)->m_ml->ml_name,
                                                   CLP_CALLED_NATIVE}, callee);
        if (is_descriptor(callable))
            return number(recorder, &(struct seen){callable, callable,
                                                   utf8_of(((PyDescrObject *)callable)->d_name),
                                                   CLP_CALLED_NATIVE}, callee);
        if (PyType_Check(callable))
            return of_class(recorder, (PyTypeObject *)callable, callee);
        PyObject *within = unwrapped(recorder, callable);
        if (within == NULL)
            break;
        callable = within;
    }
    return of_c_object(recorder, callable, callee);
}

bool clp_callee_of_method(struct clp_recorder *recorder, PyObject *value, PyObject *name, struct clp_callee *callee)
{
    PyObject *method = clp_compat_type_lookup(Py_TYPE(value), name);

    if (method == NULL || (Py_TYPE(method)->tp_flags & Py_TPFLAGS_METHOD_DESCRIPTOR) == 0)
        method = value;
    return clp_callee_of(recorder, method, callee);
}

bool clp_callee_of_iterator(struct clp_recorder *recorder, PyObject *iterator, struct clp_callee *callee)
{
    PyTypeObject *type = Py_TYPE(iterator);
    struct seen seen = {iterator, type, behind_last_dot(type->tp_name), CLP_CALLED_NATIVE};

    if (PyGen_CheckExact(iterator)) {
        PyObject *code = clp_compat_generator_code(iterator); /* borrowed */
        seen = (struct seen){iterator, code, name_of_code(code), CLP_CALLED_LIBRARY};
        return !is_selected(recorder, code) && number(recorder, &seen, callee);
    }
    PyObject *step = python_method(type, recorder->callees.next);
    if (step != NULL)
        return of_function(recorder, step, callee);
    seen.object = (PyObject *)type;
    return number(recorder, &seen, callee);
}

/* ---- starting ---- */

bool clp_callees_start(struct clp_recorder *recorder)
{
    struct clp_callees *callees = &recorder->callees;

    if (callees->init != NULL)
        return true;
    clp_hashmap_init(&callees->known, &recorder->mem);
    callees->make = PyUnicode_InternFromString("__new__");
    callees->call = PyUnicode_InternFromString("__call__");
    callees->next = PyUnicode_InternFromString("__next__");
    callees->func = PyUnicode_InternFromString("func");
    callees->name = PyUnicode_InternFromString("__name__");
    callees->module_name = PyUnicode_InternFromString("__module__");
    callees->init = PyUnicode_InternFromString("__init__");
    return callees->make != NULL && callees->call != NULL && callees->next != NULL && callees->func != NULL &&
           callees->name != NULL && callees->module_name != NULL && callees->init != NULL;
}

void clp_callees_forget(struct clp_recorder *recorder)
{
    if (recorder->callees.init == NULL)
        return;
    clp_hashmap_clear(&recorder->callees.known);
    clp_hashmap_init(&recorder->callees.known, &recorder->mem);
}
