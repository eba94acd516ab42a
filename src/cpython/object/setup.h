/* SPDX-License-Identifier: MIT */
/* How a Profiler comes to be: what was wished for, against what the profilers of the process record. Making the
 * recorder and starting its tracer is done in a turn (turn.h); the rest, in which wishes are compared and the
 * window is made, runs no Python code. */
#ifndef CLP_SETUP_H
#define CLP_SETUP_H

#include "profiler_object.h"

struct clp_wishes {
    const char *tracer;
    enum clp_memory memory;
    int by_statement;
    Py_ssize_t heap;    /* bytes between samples; 0: no table of live blocks */
    const char *leaks;  /* epochs of verdicts; NULL: none */
    long long leak_limit; /* bytes; negative: the usual limit */
    int started;
};

/* None and True are the resident size, False is nothing; else by name. False with an exception set. */
bool clp_setup_read_memory(PyObject *object, enum clp_memory *mode);

/* False with an exception set; then clp_setup_undo has to follow as for one that was made. */
bool clp_setup_profiler(struct clp_profiler *self, const struct clp_wishes *wishes);

/* Gives up what it has; it is closed then. Twice is once. */
void clp_setup_undo(struct clp_profiler *self);

/* The one recorder; NULL before the first profiler. */
struct clp_recorder *clp_setup_recorder(void);

#endif
