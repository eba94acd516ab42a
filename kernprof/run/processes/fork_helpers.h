/* SPDX-License-Identifier: MIT */
/* Stops helper threads (os/thread.h) around a fork, because os.fork warns when the process still has other threads
 * after it. In the parent the helpers start again at the interpreter's next pending call. The child has none. */
#ifndef CLP_FORK_HELPERS_H
#define CLP_FORK_HELPERS_H

#include "os/thread.h"

/* Adds a helper that runs. The helper must not move or be freed before clp_fork_helpers_remove. */
void clp_fork_helpers_add(struct clp_helper *helper);

/* Stops the helper and forgets it. Does nothing to a helper that does not run. */
void clp_fork_helpers_remove(struct clp_helper *helper);

#endif
