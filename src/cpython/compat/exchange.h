/* SPDX-License-Identifier: MIT */
/* Exchanges a C function of the interpreter for one of clineprof, in the PyMethodDef through which it is called. The
 * built-in stays the same object, so everybody who holds it calls the new function.
 *
 * Threads: the interpreter's lock. `theirs` stays set after the undo, for calls that are still within `ours`. */
#ifndef CLP_EXCHANGE_H
#define CLP_EXCHANGE_H

#include "compat.h"

struct clp_exchange {
    const char *name;
    int flags;           /* the calling convention (METH_..); a function with another one is not exchanged */
    PyCFunction ours;
    PyMethodDef *method; /* borrowed from the interpreter; NULL: nothing was exchanged yet */
    PyCFunction theirs;
};

/* Exchanges the function. `builtin`, borrowed, is a built-in function or a method of a built-in type. Any other object,
 * and NULL, is left as it is. A second call has no effect. */
void clp_exchange_put(struct clp_exchange *exchange, PyObject *builtin);

/* Puts the original function back, unless somebody else has exchanged the function since. */
void clp_exchange_undo(const struct clp_exchange *exchange);

#endif
