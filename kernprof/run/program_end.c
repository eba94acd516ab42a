/* SPDX-License-Identifier: MIT */
#include "program_end.h"
#include "cpython/compat/raised.h"
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Is the exception exactly of this class, and its attribute equal to `wanted`, a str or int? Subclasses are not asked,
 * because a class of the program may run any code. Takes the reference to `wanted`. */
static bool says(PyObject *exception, PyObject *class, const char *name, PyObject *wanted)
{
    PyObject *value = (PyObject *)Py_TYPE(exception) == class ? PyObject_GetAttrString(exception, name) : NULL;
    bool plain = value != NULL && (PyUnicode_CheckExact(value) || PyLong_CheckExact(value));
    bool same = plain && wanted != NULL && PyObject_RichCompareBool(value, wanted, Py_EQ) == 1;

    PyErr_Clear();
    Py_XDECREF(value);
    Py_XDECREF(wanted);
    return same;
}

void clp_program_end_describe(struct clp_program_end *end)
{
    struct clp_raised raised = clp_raised_take();
    PyObject *exception = clp_raised_exception(&raised);

    end->refused_words = says(exception, PyExc_SystemExit, "code", PyLong_FromLong(2));
    end->lacks_profile = says(exception, PyExc_NameError, "name", PyUnicode_FromString("profile"));
    if (!PyErr_GivenExceptionMatches(exception, PyExc_SystemExit))
        (void)snprintf(end->exception, sizeof end->exception, "%s", Py_TYPE(exception)->tp_name);
    clp_raised_give(raised);
}

#define UNWRITTEN 120 /* the exit code of an interpreter that could not write all of its output */

/* Called by exit(), when the interpreter has finalised. */
static void end_by_interrupt(int code, void *nothing)
{
    (void)nothing;
    if (code != CLP_INTERRUPTED && code != UNWRITTEN)
        return;
    (void)signal(SIGINT, SIG_DFL);
    (void)kill(getpid(), SIGINT);
}

/* Runs one line that raises KeyboardInterrupt: the interpreter notes an interruption only of code that it runs
 * itself. At sys.exit() it does not look at what it has noted. */
void clp_program_end_tell_interrupted(void)
{
    PyObject *names = PyDict_New();
    PyObject *result = NULL;

    if (names != NULL && PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()) == 0)
        result = PyRun_String("raise KeyboardInterrupt", Py_file_input, names, names);
    Py_XDECREF(result);
    Py_XDECREF(names);
    PyErr_Clear();
    (void)on_exit(end_by_interrupt, NULL);
}

/* Replaces the exit code 0 by `ours`. Called by exit(), when only the buffers of C streams are still to be written. */
static void exit_if_well(int code, void *ours)
{
    if (code != 0)
        return;
    (void)fflush(NULL);
    _exit((int)(intptr_t)ours);
}

void clp_program_end_exit_with(int code)
{
    (void)on_exit(exit_if_well, (void *)(intptr_t)code);
}
