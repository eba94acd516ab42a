/* SPDX-License-Identifier: MIT */
#include "first_path.h"

static bool flag_is_set(const char *name)
{
    PyObject *flags = PySys_GetObject("flags"); /* borrowed */
    PyObject *flag = flags != NULL ? PyObject_GetAttrString(flags, name) : NULL;
    bool set = flag != NULL && PyObject_IsTrue(flag) == 1;

    Py_XDECREF(flag);
    PyErr_Clear(); /* 3.10 has no safe_path */
    return set;
}

bool clp_first_path_is_used(void)
{
    return !flag_is_set("safe_path") && !flag_is_set("isolated");
}

bool clp_first_path_leave(void)
{
    PyObject *path = PySys_GetObject("path"); /* borrowed */

    if (path == NULL || !PyList_Check(path) || PyList_GET_SIZE(path) == 0 || !clp_first_path_is_used())
        return true;
    return PySequence_DelItem(path, 0) == 0;
}

bool clp_first_path_set(PyObject *entry)
{
    PyObject *path = PySys_GetObject("path"); /* borrowed */

    if (entry == NULL)
        return false;
    if (path == NULL || !PyList_Check(path) || !clp_first_path_is_used())
        return true;
    return PyList_Insert(path, 0, entry) == 0;
}
