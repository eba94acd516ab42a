/* SPDX-License-Identifier: MIT */
/* The main script of a process that the program has started: `python script.py` is compiled by the
 * interpreter itself, and multiprocessing reads the program's script anew as __mp_main__; neither asks a
 * loader for the code. */
#ifndef CLP_CHILDMAIN_H
#define CLP_CHILDMAIN_H

#include "target_selection.h"

/* From now on what the targets name in such a script is selected just before it runs. With the probe
 * tracer that is not its own body, which nobody can exchange any more. *chosen must stay where it is.
 * False with an exception set. */
bool clp_childmain_watch(struct clp_target_selection *chosen);

#endif
