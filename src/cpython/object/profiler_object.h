/* SPDX-License-Identifier: MIT */
/* The Profiler object as the files that make it up know it: profiler.c, its methods; setup.c, how one
 * comes to be; with_block.c, `with profile.block(..)`; profiler_run.c, what the launcher asks of it.
 *
 * Any thread may use and close it at any time: its fields are protected by the interpreter's lock, and read
 * again wherever Python code may have run. */
#ifndef CLP_PROFILER_OBJECT_H
#define CLP_PROFILER_OBJECT_H

#include "cpython/windows/code_window.h"

struct clp_profiler {
    PyObject_HEAD
    struct clp_code_window window; /* its `recorder` is NULL until it is set up, and after close() */
    PyTypeObject *block_type; /* owned; NULL before the first block */
    PyObject *weak_references; /* the interpreter's */
    PyObject *destination; /* owned: the file that its numbers are written to, for its repr(); or NULL */
    PyObject *left_out; /* owned: select.h's lines about classes, a list; NULL: nobody wants them */
    bool has_heap;
    bool ended;               /* the program is over: nothing more is selected */
    double started;           /* seconds since 1970 */
    uint64_t start_nanos;     /* CLOCK_MONOTONIC then */
};

static inline struct clp_profiler *clp_profiler_of(PyObject *object)
{
    return (struct clp_profiler *)object;
}

#endif
