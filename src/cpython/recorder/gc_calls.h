/* SPDX-License-Identifier: MIT */
/* Garbage collections: a C function in gc.callbacks tells the engine of them (engine/garbage.h), as long as a window is
 * open. It costs nothing while no collection runs. A program that takes it out of the list is not fought: later
 * collections are missing, and the profile says so.
 *
 * Threads: the interpreter's lock protects this. */
#ifndef CLP_GC_CALLS_H
#define CLP_GC_CALLS_H

#include "recorder_state.h"

/* Finds the list. It runs Python code. Without the list collections are not recorded, and no exception is set. */
void clp_gc_calls_find(struct clp_recorder *recorder);

/* Put the function into the list, and take it out. Both run no Python code. */
void clp_gc_calls_watch(struct clp_recorder *recorder);
void clp_gc_calls_leave(struct clp_recorder *recorder);

/* Has the program taken the function out of the list? */
bool clp_gc_calls_cleared(const struct clp_recorder *recorder);

#endif
