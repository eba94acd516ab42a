/* SPDX-License-Identifier: MIT */
/* Which interpreter runs the program: one answer for the launcher and for the command that pip
 * installs. Plain C. */
#ifndef CLP_INTERPRETER_H
#define CLP_INTERPRETER_H

#include "base/buf.h"
#include <stdbool.h>

struct clp_interpreter_wish {
    const char *named; /* by --python; NULL: not given */
    bool active;       /* else the active virtual environment's, where there is one .. */
    const char *usual; /* .. else this one */
};

/* Sets *path to the program to start, which may not exist. A name without "/" is looked for as a
 * shell does. False with one line in *error when PATH has no such program. */
bool clp_interpreter_find(const struct clp_interpreter_wish *wish, struct clp_buf *path,
                          struct clp_buf *error);

#endif
