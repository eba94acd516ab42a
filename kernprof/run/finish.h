/* SPDX-License-Identifier: MIT */
/* What happens at the very end of a run: the profile, the report, the messages. */
#ifndef CLP_FINISH_H
#define CLP_FINISH_H

#include "session.h"

/* Has all that done at the end of the interpreter's life: the first atexit function runs last. False
 * with an exception set. */
bool clp_finish_at_exit(struct clp_run *run);

#endif
