/* SPDX-License-Identifier: MIT */
/* Functions that Cython has compiled with line tracing. Such a function runs no bytecode and has no frame. It tells
 * tools itself which lines begin, and when it is entered and left:
 *
 *   3.13 and newer   tools of sys.monitoring that want these events in all code, whichever tracer counts the rest
 *   3.11 and 3.12    the trace function of the thread, so only the tracer settrace hears of it
 *
 * An event names a code object that Cython makes for this purpose. A `cdef` function is no Python object, so functions
 * are found by the file and the first line that their code names.
 *
 * To the engine a body has no frame. A generator is left when it yields, since nothing tells which one resumes.
 *
 * Protected as recorder_state.h says. */
#ifndef CLP_CYTHON_H
#define CLP_CYTHON_H

#include "cpython/recorder/selected.h"

/* A function of Cython. */
struct clp_cython_function {
    PyObject *file;     /* owned: the name of its file in its code, mostly a relative path */
    int32_t first_line;
    struct clp_selected selected; /* attached to no code object */
};

/* Finds the function whose code names this file and this first line. NULL: nobody has selected it. */
struct clp_cython_function *clp_cython_at(const struct clp_recorder *recorder, PyObject *file, int32_t first_line);

/* Adds a function with this number, which nobody has added before. False with an exception set. */
bool clp_cython_add(struct clp_recorder *recorder, PyObject *file, int32_t first_line, uint32_t number);

/* ---- the events ---- */

/* The function of this code; NULL: nobody has selected it. */
struct clp_cython_function *clp_cython_find(const struct clp_recorder *recorder, PyObject *code);

/* A body begins, or a generator resumes; a line begins; the body is left, or suspended. */
void clp_cython_enter(struct clp_cython_function *function, bool resumes);
void clp_cython_line(struct clp_cython_function *function, int32_t line);
void clp_cython_leave(const struct clp_cython_function *function);

#endif
