/* SPDX-License-Identifier: MIT */
/* The table of live blocks of a run: who wants it, and the epochs (epochs.h) that it is told of. Threads: the
 * interpreter's lock protects this, but the table has a lock of its own (heap/heap.h). clp_heap_table_finish
 * collects garbage, which runs Python code. */
#ifndef CLP_HEAP_TABLE_H
#define CLP_HEAP_TABLE_H

#include "recorder_state.h"

/* Gives the recorder a table that chooses blocks at this mean distance in bytes (1: all blocks). `epochs` is
 * NULL (no verdicts on leaks), "calls", "checkpoints", a number of seconds, or the name of a function whose
 * calls are the epochs of all lines. A table that exists must be of the same kind; it is then shared. False
 * with an exception set. */
bool clp_heap_table_start(struct clp_recorder *recorder, uint64_t interval, const char *epochs);

/* Tells that a window no longer wants the table. Without any window that does, blocks are only counted. */
void clp_heap_table_stop(struct clp_recorder *recorder);

/* Empties the table and starts it again, with so many warm-up epochs and this limit (struct clp_epochs). False
 * with an exception set. */
bool clp_heap_table_restart(struct clp_recorder *recorder, int warmups, int64_t limit);

/* In the child of a fork: what the parent has allocated is not the child's, and its calls are no epochs of the child. */
void clp_heap_table_after_fork(struct clp_recorder *recorder);

/* Only counts blocks from now on, until the table is started again. */
void clp_heap_table_rest(struct clp_recorder *recorder);

#define CLP_EPOCH_SECONDS 32

/* Returns what an epoch is, in the words of --leaks, or NULL if there are none. `seconds` has room for a number. */
const char *clp_heap_table_epoch(const struct clp_recorder *recorder, char *seconds);

/* Collects all garbage, and ends the last epoch. */
void clp_heap_table_finish(struct clp_recorder *recorder);

#endif
