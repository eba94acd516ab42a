/* SPDX-License-Identifier: MIT */
/* Adds new values to dicts and lists. */
#ifndef CLP_VALUES_H
#define CLP_VALUES_H

#include "cpython/compat/compat.h"
#include <stdbool.h>

/* Both functions take the reference to `value`. A `value` of NULL is a failure whose exception is set already. */
static inline bool clp_list_append(PyObject *list, PyObject *value)
{
    bool done = value != NULL && PyList_Append(list, value) == 0;

    Py_XDECREF(value);
    return done;
}

static inline bool clp_dict_set(PyObject *dict, const char *key, PyObject *value)
{
    bool done = value != NULL && PyDict_SetItemString(dict, key, value) == 0;

    Py_XDECREF(value);
    return done;
}

#endif
