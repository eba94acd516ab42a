/* SPDX-License-Identifier: MIT */
#include "statements.h"

/* The helper is a dict. It maps the number of a text to the starts of its statements, an array of int32_t as bytes, and
 * None to the function that parses a text. */

PyObject *clp_statements_start(void)
{
    PyObject *module = clp_compat_own_module("clineprof._boot.statements");
    PyObject *starts = module != NULL ? PyObject_GetAttrString(module, "starts_in") : NULL;
    PyObject *helper = starts != NULL ? Py_BuildValue("{OO}", Py_None, starts) : NULL;

    Py_XDECREF(module);
    Py_XDECREF(starts);
    return helper;
}

/* Returns the starts of the text's statements, owned bytes; empty bytes where no text has the number. NULL with an
 * exception set. */
static PyObject *parse(PyObject *helper, const struct clp_source_cache *texts, uint32_t text)
{
    PyObject *parser = PyDict_GetItemWithError(helper, Py_None); /* borrowed */
    PyObject *bytes = clp_source_cache_bytes(texts, text);
    PyObject *starts = NULL;

    if (bytes == NULL)
        return PyBytes_FromStringAndSize("", 0);
    if (parser != NULL)
        starts = PyObject_CallFunctionObjArgs(parser, bytes, NULL);
    Py_DECREF(bytes);
    return starts;
}

static bool read_text(PyObject *helper, const struct clp_source_cache *texts, uint32_t text)
{
    PyObject *number = PyLong_FromUnsignedLong(text);
    int known = number != NULL ? PyDict_Contains(helper, number) : -1;

    if (known == 0) {
        PyObject *starts = parse(helper, texts, text);
        if (starts != NULL && PyDict_SetDefault(helper, number, starts) != NULL)
            known = 1;
        Py_XDECREF(starts); /* the helper holds this result, or the one of a faster thread */
    }
    Py_XDECREF(number);
    return known == 1;
}

bool clp_statements_read(PyObject *helper, const struct clp_source_cache *texts, uint32_t text)
{
    Py_XINCREF(helper); /* the parser is Python code, during which the owner may drop the helper */
    bool done = helper == NULL || read_text(helper, texts, text);

    Py_XDECREF(helper);
    return done;
}

struct clp_statements clp_statements_of(PyObject *helper, uint32_t text)
{
    PyObject *number = helper != NULL ? PyLong_FromUnsignedLong(text) : NULL;
    PyObject *starts = number != NULL ? PyDict_GetItemWithError(helper, number) : NULL;
    struct clp_statements statements = {0};

    if (starts != NULL) {
        statements.starts = (const int32_t *)(const void *)PyBytes_AS_STRING(starts);
        statements.count = (size_t)PyBytes_GET_SIZE(starts) / sizeof(int32_t);
    }
    PyErr_Clear();
    Py_XDECREF(number);
    return statements;
}
