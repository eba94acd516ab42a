/* SPDX-License-Identifier: MIT */
/* Takes away the exception that is set in the running thread, and sets it again later, on all versions of CPython.
 * Since 3.12 the exception is one object. Before, it may be a type and arguments, of which no exception was made yet;
 * making one runs Python code. */
#ifndef CLP_RAISED_H
#define CLP_RAISED_H

#include "compat.h"

/* An exception that was taken away, owned; or none. */
struct clp_raised {
    PyObject *exception;
#if !CLP_RAISED_IS_ONE_OBJECT
    PyObject *type, *traceback;
#endif
};

/* Takes the exception away, so that none is set. Runs no Python code. */
static inline struct clp_raised clp_raised_take(void)
{
#if CLP_RAISED_IS_ONE_OBJECT
    return (struct clp_raised){PyErr_GetRaisedException()};
#else
    struct clp_raised raised;

    PyErr_Fetch(&raised.type, &raised.exception, &raised.traceback);
    return raised;
#endif
}

/* Sets the exception again, in place of any that is set now, and takes over the reference. */
static inline void clp_raised_give(struct clp_raised raised)
{
#if CLP_RAISED_IS_ONE_OBJECT
    PyErr_SetRaisedException(raised.exception);
#else
    PyErr_Restore(raised.type, raised.exception, raised.traceback);
#endif
}

/* Returns the exception itself, borrowed; NULL when there is none. May run Python code. */
static inline PyObject *clp_raised_exception(struct clp_raised *raised)
{
#if !CLP_RAISED_IS_ONE_OBJECT
    PyErr_NormalizeException(&raised->type, &raised->exception, &raised->traceback);
#endif
    return raised->exception;
}

/* Drops the references. */
static inline void clp_raised_drop(struct clp_raised *raised)
{
    Py_CLEAR(raised->exception);
#if !CLP_RAISED_IS_ONE_OBJECT
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
