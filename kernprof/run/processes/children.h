/* SPDX-License-Identifier: MIT */
/* --prof-child-procs: the processes that the program starts. Each records into a live file of its own
 * beside the output, OUTFILE.FAMILY.PID.live (family.h). The first process adds them up when it ends. Until
 * then nobody has to write anything, so it does not matter how a child ends.
 *
 *   fork   its counters move from the parent's live file into its own, and what they held is dropped
 *   spawn  finds the profiler through the environment (src/clineprof/_children/__init__.py) */
#ifndef CLP_CHILDREN_H
#define CLP_CHILDREN_H

#include "recording.h"
#include "bridge/console.h"

/* Before the program runs, by ckernprof with this command line: what it forks and spawns from now on takes part.
 * False with an exception set. */
bool clp_children_begin(struct clp_recording *recording, const struct clp_command_words *words);

/* What _children.begin() calls around a fork: owned tuple, NULL with an exception set. */
PyObject *clp_children_callbacks(struct clp_recording *recording);

/* At the end of a child, when it ends by itself: names its file's process, and takes the file away if
 * nothing was selected in it. */
void clp_children_leave(struct clp_recording *recording);

#endif
