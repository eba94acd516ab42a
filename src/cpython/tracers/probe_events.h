/* SPDX-License-Identifier: MIT */
/* The events of probes: what happens when the interpreter takes the negative of one, or adds what was raised.
 *
 * The thread's stack of activations is kept by the probes themselves. Where one finds another
 * function on top than its own (a return was lost because another tool's hook raised in it), the
 * stack is aligned by the frame's identity. */
#ifndef CLP_PROBE_EVENTS_H
#define CLP_PROBE_EVENTS_H

#include "rewrite/rewrite.h"
#include "cpython/recorder/selected.h"

#if CLP_HAS_PROBES

/* A constant of a copy of code. */
struct clp_probe_object {
    PyObject_HEAD
    struct clp_selected *selected; /* holds it */
    int32_t line;
    size_t place; /* of the line's cell in the function's block */
};

/* By kind. Each event comes in two forms, for the processor's counter and for the system's clock. */
struct clp_probe_event {
    const char *name;
    unaryfunc with_counter, with_system_clock; /* the negative; NULL: clp_probe_add_raised */
};

extern const struct clp_probe_event clp_probe_events[CLP_PROBE_KINDS];

/* The sum of a probe and what was raised. */
PyObject *clp_probe_add_raised(PyObject *probe, PyObject *raised);

#endif
#endif
