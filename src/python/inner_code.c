/* SPDX-License-Identifier: MIT */
#include "inner_code.h"

/* Owned; *changed when they differ. */
static PyObject *replaced_constants(PyObject *constants, clp_inner_code_use *replace, void *data,
                                    bool *changed)
{
    PyObject *copy = PyTuple_New(PyTuple_GET_SIZE(constants));

    for (Py_ssize_t i = 0; copy != NULL && i < PyTuple_GET_SIZE(constants); i++) {
        PyObject *item = PyTuple_GET_ITEM(constants, i);
        PyObject *new = PyCode_Check(item) ? replace(data, item) : Py_NewRef(item);
        *changed |= new != item;
        if (new == NULL)
            Py_CLEAR(copy);
        else
            PyTuple_SET_ITEM(copy, i, new);
    }
    return copy;
}

PyObject *clp_inner_code_replaced(PyObject *code, clp_inner_code_use *replace, void *data)
{
    bool changed = false;
    PyObject *constants =
        replaced_constants(((PyCodeObject *)code)->co_consts, replace, data, &changed);
    PyObject *copy = constants == NULL ? NULL
                     : changed         ? clp_compat_with_constants((PyCodeObject *)code, constants)
                                       : Py_NewRef(code);

    Py_XDECREF(constants);
    return copy;
}
