/* SPDX-License-Identifier: MIT */
/* Functions that Cython has compiled with line tracing. Such a function runs no bytecode and has no frame. It tells
 * tools itself which lines begin, and when it is entered and left:
 *
 *   3.13 and newer   tools of sys.monitoring that want these events in all code, whichever tracer counts the rest
 *   3.11 and 3.12    the trace function of the thread, so only the tracer settrace hears of it
 *
 * An event names a code object. That of a `def` function is its __code__. A `cdef` function is no Python object, and
 * its code is made for the events; it is found by the file, the first line and the name of its code.
 *
 * To the engine a body has no frame. A generator is left when it yields, and it is entered anew, without a call, at its
 * next line: nothing tells which one resumes. The events of resumptions are not taken. When an exception is thrown into
 * a generator, Cython sends them with the exception set, and loses its own state when a tool fails then.
 *
 * Protected as recorder_state.h says. */
#ifndef CLP_CYTHON_H
#define CLP_CYTHON_H

#include "cpython/recorder/selected.h"

/* What tells a function of Cython apart. All references are borrowed. */
struct clp_cython_key {
    PyObject *code; /* NULL: not known */
    PyObject *file; /* the name of its file in its code, mostly a relative path */
    PyObject *name; /* qualified */
    int32_t first_line;
};

/* A function of Cython. It is never freed. */
struct clp_cython_function {
    PyObject *code, *file; /* owned; `code` may be NULL */
    char *name;            /* owned: the last part of its name */
    uint8_t *loops; /* owned; for each line whether it is a loop's, which Cython tells twice at each step */
    uint32_t line_count;
    int32_t first_line;
    struct clp_selected selected; /* attached to no code object */
};

/* Finds the function. NULL: nobody has selected it. */
struct clp_cython_function *clp_cython_known(const struct clp_recorder *recorder, const struct clp_cython_key *key);

/* Adds a function with this number, which nobody has added before, and takes over `loops`, also when it fails. False
 * with an exception set. */
bool clp_cython_add(struct clp_recorder *recorder, const struct clp_cython_key *key, uint32_t number, uint8_t *loops,
                    uint32_t line_count);

/* ---- the events ---- */

/* The function of this code; NULL: nobody has selected it. */
struct clp_cython_function *clp_cython_find(const struct clp_recorder *recorder, PyObject *code);

/* In the running thread a body begins; a line begins; the body is left, or suspended. They leave no exception. */
void clp_cython_enter(struct clp_cython_function *function);
void clp_cython_line(struct clp_cython_function *function, int32_t line);
void clp_cython_leave(struct clp_cython_function *function);

#endif
