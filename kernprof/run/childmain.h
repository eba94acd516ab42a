/* SPDX-License-Identifier: MIT */
/* Selects functions in the main script of a process that the program has started. imports.c cannot do that, because
 * no loader is asked for the code: the interpreter itself compiles the script of `python script.py`, and
 * multiprocessing runs the program's script again, as __mp_main__. */
#ifndef CLP_CHILDMAIN_H
#define CLP_CHILDMAIN_H

#include "target_selection.h"

/* Makes sure that what the targets name in such a script is selected just before the script runs. With the probe
 * tracer the script's own body is not selected, as its code cannot be exchanged any more. *chosen must stay where it
 * is. False with an exception set. */
bool clp_childmain_watch(struct clp_target_selection *chosen);

#endif
