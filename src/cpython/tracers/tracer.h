/* SPDX-License-Identifier: MIT */
/* A tracer is a source of events: it turns what the interpreter does in selected code into calls of the
 * recorder. All tracers give the same hits. */
#ifndef CLP_TRACER_H
#define CLP_TRACER_H

#include "cpython/recorder/selected.h"

/* The outcome of offering a code object to a tracer. */
enum clp_selection {
    CLP_SELECTION_FAILED,  /* an exception is set */
    CLP_SELECTION_REFUSED, /* the tracer does not take such code; no exception */
    CLP_SELECTION_DONE,
};

struct clp_tracer {
    const char *name;

    /* Begins to send events; may set the recorder's state of this tracer. False with an exception set when the
     * interpreter or another tool does not allow it; nothing is left behind then. */
    bool (*start)(struct clp_recorder *recorder);

    /* Ends the events, and frees the state. Never fails. Afterwards recorder->displaced says whether another
     * tool has taken the tracer's place. */
    void (*stop)(struct clp_recorder *recorder);

    /* Takes a code object that has just been given its clp_selected. When it refuses, *reason is a constant. A
     * tracer that installs sets selected->copy, to which the caller gets a reference. */
    enum clp_selection (*select)(struct clp_recorder *recorder, PyCodeObject *code,
                                 struct clp_selected *selected, const char **reason);

    /* Gives a function that has this selected code the copy. NULL: nothing is to be done. False with an
     * exception set. */
    bool (*install)(PyObject *function, struct clp_selected *selected);

    /* Ends the events of this code, which were sent up to now. With `runs` a body of it still runs, whose exits
     * must be told. NULL: nothing is to be done. False with an exception set. */
    bool (*deselect)(struct clp_recorder *recorder, PyObject *code, bool runs);

    /* The data of the probes in this code, which somebody else has made of code with probes. Borrowed, or NULL.
     * Set only where `install` is. */
    struct clp_selected *(*owner)(PyCodeObject *code);
};

#endif
