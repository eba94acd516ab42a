/* SPDX-License-Identifier: MIT */
/* The option --pdb-mmem: starts pdb when resident memory exceeds a size. */
#ifndef CLP_MEMORY_BREAK_H
#define CLP_MEMORY_BREAK_H

#include "cpython/recorder/watch.h"

/* Sets the watch to start pdb once, when more than `mib` MiB are resident. */
void clp_memory_break_set(struct clp_watch *watch, double mib);

#endif
