/* SPDX-License-Identifier: MIT */
/* Adds new values to dicts and lists; texts as Python objects. */
#ifndef CLP_VALUES_H
#define CLP_VALUES_H

#include "base/buf.h"
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

/* A new str of the UTF-8 in the buffer, which is emptied; NULL with an exception set. */
static inline PyObject *clp_text_take(struct clp_buf *text)
{
    PyObject *made = text->failed ? PyErr_NoMemory()
                                  : PyUnicode_FromStringAndSize(clp_buf_text(text), (Py_ssize_t)text->used);

    clp_buf_clear(text);
    return made;
}

#endif
