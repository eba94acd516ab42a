/* SPDX-License-Identifier: MIT */
#include "names.h"
#include "cpython/memory/hooks.h"
#include "cpython/compat/raised.h"

/* The dict of running threads in threading, borrowed. NULL where the program has not imported threading, or has
 * put something else there. */
static PyObject *running_threads(void)
{
    PyObject *threading = PyDict_GetItemString(PyImport_GetModuleDict(), "threading");
    PyObject *names =
        threading != NULL && PyModule_CheckExact(threading) ? PyModule_GetDict(threading) : NULL;
    PyObject *running = names != NULL ? PyDict_GetItemString(names, "_active") : NULL;

    return running != NULL && PyDict_CheckExact(running) ? running : NULL;
}

/* The running thread's name as bytes in UTF-8, a new reference. NULL: threading does not know the thread (yet).
 * May leave an exception. Runs no Python code, because this is in the middle of an event. */
static PyObject *running_name(void)
{
    PyObject *running = running_threads();
    PyObject *number = PyLong_FromUnsignedLong(PyThread_get_thread_ident());
    PyObject *thread =
        running != NULL && number != NULL ? PyDict_GetItemWithError(running, number) : NULL;
    PyObject *attributes = thread != NULL ? PyObject_GenericGetDict(thread, NULL) : NULL;
    PyObject *name = attributes != NULL ? PyDict_GetItemString(attributes, "_name") : NULL;
    PyObject *text = name != NULL && PyUnicode_Check(name)
                         ? PyUnicode_AsEncodedString(name, "utf-8", "backslashreplace")
                         : NULL;

    Py_XDECREF(number);
    Py_XDECREF(attributes);
    return text;
}

static void set_group(struct clp_recorder *recorder, struct clp_thread *thread, const char *name)
{
    if (clp_groups_find(&recorder->engine.groups, name, &thread->group) != CLP_OK)
        recorder->engine.lost = true;
}

void clp_names_give(struct clp_recorder *recorder, struct clp_thread *thread)
{
    uint32_t busy = clp_hooks_pause();
    bool collected = clp_compat_stop_collecting();
    struct clp_raised raised = clp_raised_take();
    PyObject *name = running_name();

    if (name != NULL)
        set_group(recorder, thread, PyBytes_AS_STRING(name));
    else if (PyThread_get_thread_ident() == recorder->first_thread)
        set_group(recorder, thread, "MainThread");
    Py_XDECREF(name);
    clp_raised_give(raised);
    clp_compat_collect_again(collected);
    clp_hooks_resume(busy);
}

void clp_names_begin(struct clp_recorder *recorder)
{
    recorder->names_threads = true;
    recorder->first_thread = PyThread_get_thread_ident();
    if (clp_thread_here != NULL)
        clp_names_give(recorder, clp_thread_here);
}
