/* SPDX-License-Identifier: MIT */
/* Whose blocks are those that counted code (counting.h) allocates, and how often was it called meanwhile? Nothing tells that
 * a line begins or a function is called. So whoever enters a block in the table of live blocks (cpython/memory/hooks.h) looks for
 * the innermost selected line that runs, and for new calls of its function.
 *
 * The interpreter's lock protects this. */
#ifndef CLP_COUNTED_BLOCKS_H
#define CLP_COUNTED_BLOCKS_H

#include "cpython/recorder/recorder_state.h"

/* From now on, blocks belong to lines that this recorder counts. Recorders are never freed. */
void clp_counted_blocks_start(struct clp_recorder *recorder);

#endif
