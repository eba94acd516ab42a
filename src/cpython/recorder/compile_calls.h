/* SPDX-License-Identifier: MIT */
/* Calls of exec(), eval() and compile(): keeps the texts that they are given (compiled.h).
 *
 * The C functions within these three built-ins are exchanged while there is a window, so nothing else in the
 * program gets slower.
 *
 * Threads: the interpreter's lock protects this. Nothing here runs Python code. The original C function stays
 * known after an exchange is undone, for calls of ours that are still running. */
#ifndef CLP_COMPILE_CALLS_H
#define CLP_COMPILE_CALLS_H

#include "recorder_state.h"

/* Watches the built-ins from now on. Nothing changes where they are watched already. */
void clp_compile_calls_watch(struct clp_recorder *recorder);
/* Gives the built-ins their C functions back. */
void clp_compile_calls_leave(void);

#endif
