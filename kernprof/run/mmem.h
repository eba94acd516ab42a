/* SPDX-License-Identifier: MIT */
/* --pdb-mmem: the debugger, where resident memory exceeds a size. */
#ifndef CLP_MMEM_H
#define CLP_MMEM_H

#include "cpython/recorder/watch.h"

/* Has the watch stop in pdb above so many MiB. */
void clp_mmem_set(struct clp_watch *watch, double mib);

#endif
