/* SPDX-License-Identifier: MIT */
/* Copies of code objects with probes among their constants, and the functions that get them. */
#ifndef CLP_PROBE_COPIES_H
#define CLP_PROBE_COPIES_H

#include "rewrite/rewrite.h"
#include "tracer.h"

#if CLP_HAS_PROBES

/* What is put into the copies, and what makes the object that becomes a probe. `copy` is the data of the copy; the object
 * counts as one of its holders, and `number` is that of the probe. A new reference; NULL with an exception set. */
struct clp_probe_copying {
    enum clp_insertion insert;
    PyObject *(*make)(const struct clp_probe_copying *copying, struct clp_selected *copy, size_t number);
    const void *context;                   /* for whoever makes them; borrowed */
    const struct clp_rewritten *rewritten; /* set while a copy is made .. */
    PyObject *names;                       /* .. as are the names of the code; both borrowed */
};

/* The methods of all that stands in code as a constant: it is pickled as a plain 0, so that code which is pickled by value
 * works where clineprof is missing. */
extern PyMethodDef clp_probe_copies_methods[];

/* Does the recorder know the interpreter's instructions? False with an exception set. */
bool clp_probe_copies_known(const struct clp_recorder *recorder);

/* Does the work of a tracer's `select`. */
enum clp_selection clp_probe_copies_select(struct clp_recorder *recorder, PyCodeObject *code, struct clp_selected *selected,
                                           struct clp_probe_copying *copying, const char **reason);

/* The last constant of the code, which is a probe if there are any; borrowed. */
PyObject *clp_probe_copies_last(PyCodeObject *code);

/* A tracer's `install`. */
bool clp_probe_copies_install(PyObject *function, struct clp_selected *selected);

#endif
#endif
