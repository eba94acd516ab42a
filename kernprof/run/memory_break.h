/* SPDX-License-Identifier: MIT */
/* --pdb-mmem: the debugger, where resident memory exceeds a size. */
#ifndef CLP_MEMORY_BREAK_H
#define CLP_MEMORY_BREAK_H

#include "cpython/recorder/watch.h"

/* Has the watch stop in pdb above so many MiB. */
void clp_memory_break_set(struct clp_watch *watch, double mib);

#endif
