/* SPDX-License-Identifier: MIT */
/* Helper threads (os/thread.h) and forks: they are stopped before one, because os.fork warns of
 * threads, and counts them when it is over; in the parent they start again when the interpreter next
 * looks for something to do. The child has none. */
#ifndef CLP_FORK_HELPERS_H
#define CLP_FORK_HELPERS_H

#include "os/thread.h"

/* A helper that runs. It must not move or go away before clp_fork_helpers_remove. */
void clp_fork_helpers_add(struct clp_helper *helper);

/* Stops it, wherever it is; nothing happens when it was never added. */
void clp_fork_helpers_remove(struct clp_helper *helper);

#endif
