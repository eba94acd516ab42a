/* SPDX-License-Identifier: MIT */
/* The exception that is set in the running thread, taken away for a while and set again, on all versions of CPython.
 * Since 3.12 it is one object. Before, it may be a type and arguments, of which no exception has been made yet: that
 * runs Python code. */
#ifndef CLP_RAISED_H
#define CLP_RAISED_H

#include "compat.h"

/* Owned; maybe of no exception. */
struct clp_raised {
    PyObject *exception;
#if PY_VERSION_HEX < 0x030C0000
    PyObject *type, *traceback;
#endif
};

/* Takes the exception away: none is set then. Runs no Python code. */
static inline struct clp_raised clp_raised_take(void)
{
#if PY_VERSION_HEX >= 0x030C0000
    return (struct clp_raised){PyErr_GetRaisedException()};
#else
    struct clp_raised raised;

    PyErr_Fetch(&raised.type, &raised.exception, &raised.traceback);
    return raised;
#endif
}

/* Sets the exception again, in the place of any that is set now. Takes it. */
static inline void clp_raised_give(struct clp_raised raised)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(raised.exception);
#else
    PyErr_Restore(raised.type, raised.exception, raised.traceback);
#endif
}

/* The exception itself, borrowed; NULL: there is none. May run Python code. */
static inline PyObject *clp_raised_exception(struct clp_raised *raised)
{
#if PY_VERSION_HEX < 0x030C0000
    PyErr_NormalizeException(&raised->type, &raised->exception, &raised->traceback);
#endif
    return raised->exception;
}

/* Forgets it. */
static inline void clp_raised_drop(struct clp_raised *raised)
{
    Py_CLEAR(raised->exception);
#if PY_VERSION_HEX < 0x030C0000
    Py_CLEAR(raised->type);
    Py_CLEAR(raised->traceback);
#endif
}

/* Takes the exception away and says in words what it is, as a user reads it: str of it, owned. NULL: there is none,
 * or it has no words. */
static inline PyObject *clp_raised_text(void)
{
    struct clp_raised raised = clp_raised_take();
    PyObject *exception = clp_raised_exception(&raised);
    PyObject *text = exception != NULL ? PyObject_Str(exception) : NULL;

    PyErr_Clear();
    clp_raised_drop(&raised);
    return text;
}

#endif
