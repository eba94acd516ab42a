/* SPDX-License-Identifier: MIT */
/* Finds the interpreter that runs the program. The launcher and the command that pip installs both ask here, so they
 * choose the same one. Plain C. */
#ifndef CLP_INTERPRETER_H
#define CLP_INTERPRETER_H

#include "base/buf.h"
#include <stdbool.h>

/* Where to look, in the order of the fields. */
struct clp_interpreter_wish {
    const char *named; /* the value of --python, which wins; NULL: not given */
    bool active;       /* without --python: prefer the interpreter of the active virtual environment ($VIRTUAL_ENV) */
    const char *usual; /* the interpreter to take when the other two name none */
};

/* Sets *path to the interpreter. A name with "/" is taken as it is, even if no such file exists. A name without "/"
 * is looked up in PATH, as a shell does. False with one line in *error when PATH has no such program. */
bool clp_interpreter_find(const struct clp_interpreter_wish *wish, struct clp_buf *path,
                          struct clp_buf *error);

#endif
