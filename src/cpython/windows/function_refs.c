/* SPDX-License-Identifier: MIT */
#include "function_refs.h"

/* Called when a function dies; `self` is the dict. */
static PyObject *forget(PyObject *self, PyObject *reference)
{
    if (PyDict_DelItem(self, reference) != 0)
        PyErr_Clear();
    Py_RETURN_NONE;
}

static PyMethodDef forget_method = {"forget", forget, METH_O, NULL};

/* A new weak reference to be a key, which removes itself from the dict when the function dies. */
static PyObject *new_key(PyObject *functions, PyObject *function)
{
    PyObject *callback = PyCFunction_New(&forget_method, functions);
    PyObject *key = callback != NULL ? PyWeakref_NewRef(function, callback) : NULL;

    Py_XDECREF(callback);
    return key;
}

/* Sets the function's value. None only adds the function: a value that is there stays. */
static bool set(struct clp_site *site, PyObject *function, PyObject *value)
{
    PyObject *key = PyWeakref_NewRef(function, NULL); /* equal to the reference that is the key, if there is one */
    int there = -1;

    if (site->functions == NULL)
        site->functions = PyDict_New();
    if (key != NULL && site->functions != NULL)
        there = PyDict_Contains(site->functions, key);
    if (there == 0)
        Py_XSETREF(key, new_key(site->functions, function));
    bool done = there >= 0 && key != NULL &&
                ((there == 1 && value == Py_None) ||
                 PyDict_SetItem(site->functions, key, value) == 0);
    Py_XDECREF(key);
    return done;
}

bool clp_function_refs_note(struct clp_site *site, PyObject *function)
{
    return set(site, function, Py_None);
}

bool clp_function_refs_put_aside(struct clp_site *site, PyObject *function, PyObject *code)
{
    return set(site, function, code);
}

PyObject *clp_function_refs_list(const struct clp_site *site)
{
    PyObject *keys = site->functions != NULL ? PyDict_Keys(site->functions) : PyList_New(0);
    PyObject *functions = keys != NULL ? PyList_New(0) : NULL;

    for (Py_ssize_t i = 0; functions != NULL && i < PyList_GET_SIZE(keys); i++) {
        PyObject *function = clp_compat_referent(PyList_GET_ITEM(keys, i));
        if (function != NULL && PyList_Append(functions, function) != 0)
            Py_CLEAR(functions);
        Py_XDECREF(function);
    }
    Py_XDECREF(keys);
    return functions;
}
