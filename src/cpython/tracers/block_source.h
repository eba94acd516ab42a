/* SPDX-License-Identifier: MIT */
/* Where the events of blocks come from: sys.monitoring where there is one (blocks_monitoring.c), else the thread's
 * trace function (blocks_settrace.c). */
#ifndef CLP_BLOCK_SOURCE_H
#define CLP_BLOCK_SOURCE_H

#include "cpython/recorder/stays.h"

/* The stay's events come from now on, and no more; code may be watched a little longer. False with an
 * exception set; the others never fail. */
bool clp_blocks_watch(struct clp_stay *stay, PyObject *code);
void clp_blocks_unwatch(struct clp_stay *stay);
void clp_blocks_unwatch_code(struct clp_recorder *recorder, PyObject *code);
void clp_blocks_unwatch_all(struct clp_recorder *recorder);

#endif
