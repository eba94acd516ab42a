/* SPDX-License-Identifier: MIT */
/* Several stacks in one thread. Where the program switches between stacks of its own (greenlets), the whole
 * stack that stops is suspended. It is kept under the address of its owner until the owner continues. */
#ifndef CLP_STACKS_H
#define CLP_STACKS_H

#include "engine_state.h"

/* Keeps the thread's stack under `from`, and continues with the stack that was kept under `to`. A stack that
 * was never kept is empty. The two addresses differ; neither is dereferenced. */
void clp_engine_switch_stack(struct clp_thread *thread, const void *from, const void *to,
                             uint64_t now);

#endif
