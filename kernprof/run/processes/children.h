/* SPDX-License-Identifier: MIT */
/* The option --prof-child-procs: profiles the processes that the program starts. Each process records into a live file
 * of its own beside the output, OUTFILE.FAMILY.PID.live (family.h). The first process adds the files up when it ends.
 * No process has to write anything at its end, so it does not matter how a child ends; only a log of lines is written
 * then (live_lines.h). There are two kinds of children:
 *
 *   forked   the counters move from the parent's live file into one of the child's own, and begin at zero
 *   spawned  the child finds the profiler through the environment (src/clineprof/_children/__init__.py) */
#ifndef CLP_CHILDREN_H
#define CLP_CHILDREN_H

#include "recording.h"
#include "bridge/console.h"

/* Lets the processes that this one forks and spawns from now on take part in the run. `words` is the command line of
 * ckernprof. Without a live file nothing happens, after a message in the first process. False with an exception set. */
bool clp_children_begin(struct clp_recording *recording, const struct clp_command_words *words);

/* Makes the functions that _children.begin() registers to be called around forks: a new tuple (forked, named,
 * has_forked, ended), or NULL with an exception set. */
PyObject *clp_children_callbacks(struct clp_recording *recording);

/* Ends a child that ends by itself (not by a signal or os._exit): notes the process's name in its live file, or removes
 * the file if nothing was selected in this process. */
void clp_children_leave(struct clp_recording *recording);

#endif
