/* SPDX-License-Identifier: MIT */
/* Where the events of `with` blocks come from: from sys.monitoring where it exists (blocks_monitoring.c), else
 * from the thread's trace function (blocks_settrace.c). */
#ifndef CLP_BLOCK_SOURCE_H
#define CLP_BLOCK_SOURCE_H

#include "cpython/recorder/stays.h"

/* Starts the events of the stay's block, which stands in `code`. False with an exception set. */
bool clp_blocks_watch(struct clp_stay *stay, PyObject *code);
/* Ends the events of the block. The code may be watched a little longer. Never fails. */
void clp_blocks_unwatch(struct clp_stay *stay);
/* Ends watching of the code, or of all code. Never fail. */
void clp_blocks_unwatch_code(struct clp_recorder *recorder, PyObject *code);
void clp_blocks_unwatch_all(struct clp_recorder *recorder);

#endif
