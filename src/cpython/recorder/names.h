/* SPDX-License-Identifier: MIT */
/* The names that the module threading has for threads. They are read within events, so no code of the program
 * is run. */
#ifndef CLP_NAMES_H
#define CLP_NAMES_H

#include "recorder_state.h"

/* Tells threads apart by name from now on (engine/groups.h). The calling thread must be the interpreter's
 * first; it is given its name. */
void clp_names_begin(struct clp_recorder *recorder);

/* Puts the thread, which must be the running one, into the group of its name, if it has a name by now. */
void clp_names_give(struct clp_recorder *recorder, struct clp_thread *thread);

#endif
