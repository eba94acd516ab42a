/* SPDX-License-Identifier: MIT */
/* The Profiler object as its files know it: profiler.c has its methods; setup.c makes it; with_block.c has
 * `with profile.block(..)`; profiler_run.c has what the launcher asks of it.
 *
 * Any thread may use and close it at any time. The interpreter's lock protects its fields, so they are read
 * again wherever Python code may have run. */
#ifndef CLP_PROFILER_OBJECT_H
#define CLP_PROFILER_OBJECT_H

#include "cpython/windows/code_window.h"
#include "profile/texts.h"

struct clp_profiler {
    PyObject_HEAD
    struct clp_code_window window; /* `recorder` is NULL until it is set up, and after close() */
    PyTypeObject *block_type; /* owned; made for the first block */
    PyObject *weak_references; /* belongs to the interpreter */
    PyObject *context; /* owned: the ContextVar that limits what counts, or NULL */
    PyObject *destination; /* owned: the file to which its numbers will be written, for its repr(); or NULL */
    PyObject *left_out; /* owned: a list of select.h's lines about classes; NULL: nobody wants them */
    enum clp_kept_source source; /* whose text its profile has */
    bool has_heap;
    bool ended;               /* the program is over: nothing more is selected */
    struct clp_profiler *next_named; /* borrowed: in the list of those that want torch's names (torch_names.h) */
    double started;           /* seconds since 1970 */
    uint64_t start_nanos;     /* CLOCK_MONOTONIC at `started` */
};

static inline struct clp_profiler *clp_profiler_of(PyObject *object)
{
    return (struct clp_profiler *)object;
}

/* Does the profiler take blocks now? A block that begins outside windows costs nothing, and does not count if a window
 * opens within it. */
static inline bool clp_profiler_takes_blocks(const struct clp_profiler *self)
{
    return self->window.recorder != NULL && !self->ended && self->window.open;
}

#endif
