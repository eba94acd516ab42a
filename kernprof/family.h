/* SPDX-License-Identifier: MIT */
/* What the processes of a run with --prof-child-procs have recorded, beside the output:
 *
 *   OUTFILE.FAMILY.PID.live     of each process; FAMILY is "4711-9f3c2a1b5d7e": the number of the process
 *                               that the run began with, and one that no other run has (clp_run_id)
 *   OUTFILE.FAMILY.ended.lprof  the sum of many that have ended, so that their files do not pile up
 *
 * A process in a sum is known by its number and start, so a file that a sweep was killed over is not
 * counted twice. Sweeps exclude each other by a lock on the folder, which nobody waits for. Only files of
 * users count of whom the run knows: its own, root, and those that a process of theirs has become. */
#ifndef CLP_FAMILY_H
#define CLP_FAMILY_H

#include "finish.h"

/* What a process is called that only forks others (multiprocessing's forkserver) and ends after them: it has
 * nothing more to record once the others have begun. */
#define CLP_FAMILY_SERVER "multiprocessing.forkserver"

/* Any process of the run, at any time: takes files of ended ones into the sum of them, when there are
 * many. What fails is left for the end. */
void clp_family_sweep(const struct clp_run *run);

/* Adds what the others recorded to the profile of the process that the run began with, which gets a list
 * of them all. What cannot be read or still runs is told. `summed` gets the names of the files
 * that are no longer needed, each ended by 0. CLP_NO_MEMORY leaves the profile with a part, as
 * clp_profile_merge does. */
clp_status clp_family_add(const struct clp_run *run, struct clp_profile *profile,
                          struct clp_buf *summed);

/* Called in another process than the first, after clp_family_add: adds the live file of the first one, if that
 * died without writing its profile. Otherwise as clp_family_add. */
clp_status clp_family_add_first(const struct clp_run *run, struct clp_profile *profile,
                                struct clp_buf *summed);

/* Removes the files with these names. */
void clp_family_remove(const struct clp_buf *summed);

#endif
