/* SPDX-License-Identifier: MIT */
/* The names that threading has for threads. Read within events: no code of the program's is called. */
#ifndef CLP_NAMES_H
#define CLP_NAMES_H

#include "recorder_state.h"

/* From now on threads are told apart by name (engine/groups.h), the calling one, which is the
 * interpreter's first, among them. */
void clp_names_begin(struct clp_recorder *recorder);

/* Has the thread, which is the running one, a name by now? Then it gets its group. */
void clp_names_give(struct clp_recorder *recorder, struct clp_thread *thread);

#endif
