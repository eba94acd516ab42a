/* SPDX-License-Identifier: MIT */
/* Several stacks in a thread. Where the program switches between stacks of its own (greenlets), all of a stack
 * suspends and is kept under whoever it belongs to until that goes on. */
#ifndef CLP_STACKS_H
#define CLP_STACKS_H

#include "engine_state.h"

/* The thread goes on with the stack that belongs to `to`; its stack so far is kept under `from`, another
 * one. Neither is dereferenced. A stack that was never kept is empty. */
void clp_engine_switch_stack(struct clp_thread *thread, const void *from, const void *to,
                             uint64_t now);

#endif
