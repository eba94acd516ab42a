/* SPDX-License-Identifier: MIT */
/* What the processes of a run with --prof-child-procs have recorded, beside the output:
 *
 *   OUTFILE.FAMILY.PID.live     of each process; FAMILY is the one that the run began with
 *   OUTFILE.FAMILY.ended.lprof  the sum of many that have ended, so that their files do not pile up
 *
 * A process in a sum is known by its number and start, so a file that a sweep was killed over is not
 * counted twice. Sweeps exclude each other by a lock on the folder, which nobody waits for. */
#ifndef CLP_FAMILY_H
#define CLP_FAMILY_H

#include "finish.h"

/* What a process is called that only forks others (multiprocessing's forkserver) and ends after them: it has
 * nothing more to record once the others have begun. */
#define CLP_FAMILY_SERVER "multiprocessing.forkserver"

/* Adds to the list of processes of a sum what `one` says of itself: its parent is not in there, nor its
 * name, "" where it has none. */
clp_status clp_family_add_row(struct clp_profile *sum, const struct clp_profile *one,
                              uint64_t parent, const char *name);

/* Any process of the run, at any time: takes files of ended ones into the sum of them, when there are
 * many. What fails is left for the end. */
void clp_family_sweep(const struct clp_run *run);

/* Adds what the others recorded to the profile of the process that the run began with, which gets a list
 * of them all. What cannot be read or still runs is told. `summed` gets the names of the files
 * that are no longer needed, each ended by 0. */
clp_status clp_family_add(const struct clp_run *run, struct clp_profile *profile,
                          struct clp_buf *summed);

/* By another one, after that: adds what the process that the run began with has left, which ended without a
 * word. */
clp_status clp_family_add_first(const struct clp_run *run, struct clp_profile *profile,
                                struct clp_buf *summed);

/* Removes the files with these names. */
void clp_family_remove(const struct clp_buf *summed);

#endif
