/* SPDX-License-Identifier: MIT */
#include "sysmon.h"

#if CLP_HAS_MONITORING

static const char own_name[] = "clineprof";

/* Returns an attribute of sys.monitoring, owned; NULL with an exception set. */
static PyObject *attribute(const char *name)
{
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */

    if (monitoring == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "there is no sys.monitoring");
        return NULL;
    }
    return PyObject_GetAttrString(monitoring, name);
}

bool clp_sysmon_call(const char *name, const char *format, ...)
{
    PyObject *function = attribute(name), *arguments = NULL, *result = NULL;
    va_list values;

    va_start(values, format);
    if (function != NULL)
        arguments = Py_VaBuildValue(format, values);
    va_end(values);
    if (arguments != NULL)
        result = PyObject_CallObject(function, arguments);
    Py_XDECREF(function);
    Py_XDECREF(arguments);
    Py_XDECREF(result);
    return result != NULL;
}

bool clp_sysmon_is_foreign(int tool)
{
    PyObject *function = attribute("get_tool");
    PyObject *name = function != NULL ? PyObject_CallFunction(function, "i", tool) : NULL;
    bool foreign = name != NULL && name != Py_None &&
                   (!PyUnicode_Check(name) || PyUnicode_CompareWithASCIIString(name, own_name) != 0);

    PyErr_Clear();
    Py_XDECREF(function);
    Py_XDECREF(name);
    return foreign;
}

long clp_sysmon_event(const char *name)
{
    PyObject *events = attribute("events");
    PyObject *bit = events != NULL ? PyObject_GetAttrString(events, name) : NULL;
    long value = bit != NULL ? PyLong_AsLong(bit) : -1;

    Py_XDECREF(events);
    Py_XDECREF(bit);
    return value;
}

int clp_sysmon_take(const int *wanted)
{
    for (; *wanted >= 0; wanted++) {
        PyErr_Clear();
        if (clp_sysmon_call("use_tool_id", "(is)", *wanted, own_name))
            return *wanted;
    }
    PyErr_SetString(PyExc_RuntimeError,
                    "other tools hold all six ids of sys.monitoring; use --tracer settrace");
    return -1;
}

bool clp_sysmon_register(int tool, PyMethodDef *handlers, size_t count, PyObject *self, long *events)
{
    *events = 0;
    for (size_t i = 0; i < count; i++) {
        long bit = clp_sysmon_event(handlers[i].ml_name);
        PyObject *function = bit < 0 ? NULL : PyCFunction_New(&handlers[i], self);
        if (function == NULL || !clp_sysmon_call("register_callback", "(ilN)", tool, bit, function))
            return false;
        *events |= bit;
    }
    return true;
}

void clp_sysmon_free(int tool, const PyMethodDef *handlers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)clp_sysmon_call("register_callback", "(ilO)", tool, clp_sysmon_event(handlers[i].ml_name), Py_None);
        PyErr_Clear();
    }
    (void)clp_sysmon_call("free_tool_id", "(i)", tool);
    PyErr_Clear();
}

#endif
