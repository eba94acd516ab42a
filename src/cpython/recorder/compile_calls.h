/* SPDX-License-Identifier: MIT */
/* Calls of exec(), eval() and compile(): the texts that they are given are kept (compiled.h).
 *
 * The C functions within the three built-ins are exchanged while there is a window, so nothing else in
 * the program is slowed.
 *
 * Threads: the interpreter's lock. Nothing here runs Python code, and a C function that was exchanged stays
 * known for the calls that are within ours when it is given back. */
#ifndef CLP_COMPILE_CALLS_H
#define CLP_COMPILE_CALLS_H

#include "recorder_state.h"

/* Watches the built-ins from now on; nothing is watched twice. */
void clp_compile_calls_watch(struct clp_recorder *recorder);
void clp_compile_calls_leave(void);

#endif
