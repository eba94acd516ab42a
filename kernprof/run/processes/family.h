/* SPDX-License-Identifier: MIT */
/* Adds up what the processes of a run (--prof-child-procs) have recorded. Their files lie beside the output:
 *
 *   OUTFILE.FAMILY.PID.live     a process's live file; FAMILY is "4711-9f3c2a1b5d7e": the number of the process that
 *                               the run began with, and a random number that no other run has (clp_run_id)
 *   OUTFILE.FAMILY.PID.lines    its log of lines, which it writes at its end (live_lines.h)
 *   OUTFILE.FAMILY.ended.lprof  the sum of many processes that have ended, so that their files do not pile up
 *
 * Moving files of ended processes into that sum is called a sweep. A sum lists its processes by number and start time,
 * so a file is not counted twice if a sweep was killed before it removed the file. Two sweeps exclude each other by a
 * lock on the folder; a sweep that does not get the lock is left out. Files count only if they belong to users that the
 * run knows: its own user, root, and users that processes of these have changed to. */
#ifndef CLP_FAMILY_H
#define CLP_FAMILY_H

#include "profile/profile.h"
#include "recording.h"

/* Sweeps, if there are many files. Any process of the run may do that at any time. Files that cannot be read stay for
 * clp_family_add. */
void clp_family_sweep(const struct clp_recording *recording);

/* Adds what the other processes have recorded to `profile`, which holds this process's own counts and gets a list of
 * all processes. The first process of the run does that at its end; another process does if the first died without
 * writing its profile. Messages name files that cannot be read and processes that still run. recording->summed gets the
 * names of the files that are no longer needed. CLP_NO_MEMORY leaves the profile with a part of the counts, as
 * clp_profile_merge does. */
clp_status clp_family_add(struct clp_recording *recording, struct clp_profile *profile);

/* Removes the files in recording->summed. To be called once the profile has been written. */
void clp_family_remove(struct clp_recording *recording);

#endif
