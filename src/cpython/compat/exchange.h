/* SPDX-License-Identifier: MIT */
/* A C function of the interpreter, exchanged for ours within the table of methods it is called through:
 * the built-in stays the object it is, and whoever holds it calls ours.
 *
 * Threads: the interpreter's lock. `theirs` stays known for calls that are within ours when it is put back. */
#ifndef CLP_EXCHANGE_H
#define CLP_EXCHANGE_H

#include "compat.h"

struct clp_exchange {
    const char *name;
    int flags;           /* how it is called (METH_..); one that is called otherwise stays */
    PyCFunction ours;
    PyMethodDef *method; /* borrowed: the interpreter's; NULL: none was exchanged yet */
    PyCFunction theirs;
};

/* `builtin`, borrowed, is a built-in function or a method of a built-in type. Anything else, and NULL,
 * stays as it is. Calling it again has no effect. */
void clp_exchange_put(struct clp_exchange *exchange, PyObject *builtin);

/* Theirs is called again, unless somebody else has exchanged it since. */
void clp_exchange_undo(const struct clp_exchange *exchange);

#endif
