/* SPDX-License-Identifier: MIT */
/* The end of a run: writes the profile, prints the report and the messages. */
#ifndef CLP_FINISH_H
#define CLP_FINISH_H

#include "session.h"

/* Registers the end of the run with atexit, so that it happens when the interpreter ends. Must be called before the
 * program runs: the atexit function that was registered first runs last. False with an exception set. */
bool clp_finish_at_exit(struct clp_run *run);

/* The program's last line has run. What the functions free that it has registered with atexit is no longer of interest to
 * verdicts on leaks; its threads, which end before that, still are. */
void clp_finish_program_ended(struct clp_run *run);

#endif
