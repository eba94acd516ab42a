/* SPDX-License-Identifier: MIT */
#include "statements.h"

/* A dict: what is known of each file, as bytes, by its name; and under None the function that reads. */

PyObject *clp_statements_start(void)
{
    PyObject *module = PyImport_ImportModule("clineprof._statements");
    PyObject *starts = module != NULL ? PyObject_GetAttrString(module, "starts") : NULL;
    PyObject *helper = starts != NULL ? Py_BuildValue("{OO}", Py_None, starts) : NULL;

    Py_XDECREF(module);
    Py_XDECREF(starts);
    return helper;
}

/* Borrowed from the helper; NULL with an exception set. */
static PyObject *read_file(PyObject *helper, PyObject *file)
{
    PyObject *known = PyDict_GetItemWithError(helper, file);

    if (known != NULL || PyErr_Occurred())
        return known;
    PyObject *read = PyDict_GetItemWithError(helper, Py_None); /* borrowed */
    PyObject *bytes = read != NULL ? PyObject_CallFunctionObjArgs(read, file, NULL) : NULL;
    if (bytes != NULL && PyDict_SetItem(helper, file, bytes) != 0)
        Py_CLEAR(bytes);
    Py_XDECREF(bytes);
    return bytes; /* the helper has it */
}

bool clp_statements_of(PyObject *helper, const PyCodeObject *code, struct clp_statements *statements)
{
    PyObject *bytes = read_file(helper, code->co_filename);

    if (bytes == NULL)
        return false;
    *statements = (struct clp_statements){
        .starts = (const int32_t *)(const void *)PyBytes_AS_STRING(bytes),
        .count = (size_t)PyBytes_GET_SIZE(bytes) / sizeof(int32_t),
    };
    return true;
}
