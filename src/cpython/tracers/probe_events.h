/* SPDX-License-Identifier: MIT */
/* The events of probes: what happens when the interpreter takes the negative of a probe, asks whether it contains an
 * operand, or adds what was raised to it.
 *
 * The probes themselves keep the thread's stack of activations. Where a probe finds another function on top
 * than its own (a return was lost because another tool's hook raised an exception in it), the stack is aligned
 * by the identity of the frame. */
#ifndef CLP_PROBE_EVENTS_H
#define CLP_PROBE_EVENTS_H

#include "rewrite/rewrite.h"
#include "cpython/recorder/callees.h"

#if CLP_HAS_PROBES

/* A probe: a constant in a copy of code. */
struct clp_probe_object {
    PyObject_HEAD
    struct clp_selected *selected; /* counts as one of its holders */
    int32_t line;
    size_t place; /* offset of the line's cell in the function's block */
    PyObject *name;  /* owned: of the method that a call may be of; or NULL */
    struct clp_callee callee; /* the operator, or what was called last here */
    struct clp_callee_key key; /* tells what was called last here */
    bool counts;               /* does its time count? */
};

/* The event of one kind of probe, in two forms: for the processor's counter and for the system's clock. */
struct clp_probe_event {
    const char *name;
    unaryfunc with_counter, with_system_clock; /* take the negative */
    /* Ask whether the probe contains the operand; all NULL: the probe is added to what was raised, by
     * clp_probe_add_raised. */
    objobjproc operand_with_counter, operand_with_system_clock;
};

extern const struct clp_probe_event clp_probe_events[CLP_PROBE_KINDS];

/* Those of kinds that do more in code with probes around operators: then an operator that follows knows whether it has
 * entered a Python function. The names of others are NULL. */
extern const struct clp_probe_event clp_probe_watched_events[CLP_PROBE_KINDS];

/* The event of a probe that is added to what was raised: begins the probe's line unless it was raised on that
 * line. */
PyObject *clp_probe_add_raised(PyObject *probe, PyObject *raised);

/* The line on which the exception was raised that the running body of this code raises again, or the exception's place in
 * it. To the interpreter this is the line executed before the handler. CLP_NO_LINE: not known, or the handler's line must
 * begin. */
int clp_probe_line_of_raised(const struct clp_selected *selected, PyObject *raised);

#endif
#endif
