/* SPDX-License-Identifier: MIT */
#include "cprofile.h"
#include <marshal.h>

PyObject *clp_cprofile_new(void)
{
    PyObject *module = clp_compat_own_module("clineprof._compat.cprofile"), *profile = NULL;

    if (module != NULL)
        profile = PyObject_CallMethod(module, "make", NULL);
    Py_XDECREF(module);
    return profile;
}

bool clp_cprofile_enable(PyObject *profile)
{
    PyObject *result = PyObject_CallMethod(profile, "enable", NULL);

    Py_XDECREF(result);
    return result != NULL;
}

void clp_cprofile_disable(PyObject *profile)
{
    Py_XDECREF(PyObject_CallMethod(profile, "disable", NULL));
    PyErr_Clear();
}

PyObject *clp_cprofile_bytes(PyObject *profile)
{
    clp_cprofile_disable(profile); /* or the profile would contain the call of create_stats */
    PyObject *result = PyObject_CallMethod(profile, "create_stats", NULL), *stats = NULL;
    PyObject *bytes = NULL;

    if (result != NULL)
        stats = PyObject_GetAttrString(profile, "stats");
    if (stats != NULL)
        bytes = PyMarshal_WriteObjectToString(stats, Py_MARSHAL_VERSION);
    Py_XDECREF(result);
    Py_XDECREF(stats);
    return bytes;
}

bool clp_cprofile_empty(PyObject *profile)
{
    PyObject *stats = PyObject_GetAttrString(profile, "stats");
    bool empty = stats != NULL && PyDict_Check(stats) && PyDict_GET_SIZE(stats) == 0;

    Py_XDECREF(stats);
    PyErr_Clear();
    return empty;
}

PyObject *clp_cprofile_report(PyObject *profile)
{
    return PyObject_CallMethod(profile, "report", NULL);
}
