/* SPDX-License-Identifier: MIT */
/* A tracer is a source of events: it turns what the interpreter does in selected code into calls
 * of the recorder. All tracers give the same hits. */
#ifndef CLP_TRACER_H
#define CLP_TRACER_H

#include "recorder.h"

struct clp_tracer {
    const char *name;

    /* Begins to send events; may take the recorder's tracer_state. False with a Python exception
     * set when this interpreter or another tool does not let it; nothing is left behind. */
    bool (*start)(struct clp_recorder *recorder);

    /* Events end; the state is freed. Never fails. By now recorder->displaced says whether another
     * tool has taken the tracer's place. */
    void (*stop)(struct clp_recorder *recorder);

    /* The code object has just been given its clp_selected. False with an exception set. */
    bool (*select)(struct clp_recorder *recorder, PyCodeObject *code,
                   struct clp_selected *selected);
};

/* In order of preference; ended by NULL. Holds those that this interpreter has. The probe tracer
 * will stand first. */
extern const struct clp_tracer *const clp_tracers[];

extern const struct clp_tracer clp_tracer_settrace;
#if CLP_HAS_MONITORING
extern const struct clp_tracer clp_tracer_monitoring;
#endif

/* The tracer of this name; NULL when there is none here. */
const struct clp_tracer *clp_tracer_named(const char *name);

/* Starts the named tracer, or for NULL and "auto" the first that starts, and measures what its
 * events cost. False with an exception set. */
bool clp_tracer_start(struct clp_recorder *recorder, const char *name);
void clp_tracer_stop(struct clp_recorder *recorder);

/* Selects a code object: lines that begin in it are counted from now on. `name` is its qualified
 * name. Selecting again changes nothing. False with an exception set. */
bool clp_tracer_select(struct clp_recorder *recorder, PyCodeObject *code, PyObject *name);

#endif
