/* SPDX-License-Identifier: MIT */
/* A tracer is a source of events: it turns what the interpreter does in selected code into calls
 * of the recorder. All tracers give the same hits. */
#ifndef CLP_TRACER_H
#define CLP_TRACER_H

#include "cpython/recorder/selected.h"

/* What became of a code object. */
enum clp_selection {
    CLP_SELECTION_FAILED,  /* an exception is set */
    CLP_SELECTION_REFUSED, /* not one for this tracer; no exception */
    CLP_SELECTION_DONE,
};

struct clp_tracer {
    const char *name;

    /* Begins to send events; may take the recorder's tracer_state. False with a Python exception
     * set when this interpreter or another tool does not let it; nothing is left behind. */
    bool (*start)(struct clp_recorder *recorder);

    /* Events end; the state is freed. Never fails. By now recorder->displaced says whether another
     * tool has taken the tracer's place. */
    void (*stop)(struct clp_recorder *recorder);

    /* The code object has just been given its clp_selected. When refused, *reason is a constant.
     * A tracer that installs leaves selected->copy, and the caller a reference to it. */
    enum clp_selection (*select)(struct clp_recorder *recorder, PyCodeObject *code,
                                 struct clp_selected *selected, const char **reason);

    /* A function has this selected code. NULL: nothing is to be done to it. False with an exception
     * set. */
    bool (*install)(PyObject *function, struct clp_selected *selected);

    /* Events of this code, told so far, end. A body of it may still run: `runs`; its exits must be told.
     * NULL: nothing is to be done. False with an exception set. */
    bool (*deselect)(struct clp_recorder *recorder, PyObject *code, bool runs);

    /* Whose probes are in this code, which somebody else made of code with probes? Borrowed, or
     * NULL. Only where there is install. */
    struct clp_selected *(*owner)(PyCodeObject *code);
};

#endif
