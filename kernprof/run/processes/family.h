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

#include "profile/profile.h"
#include "recording.h"

/* Any process of the run, at any time: takes files of ended ones into the sum of them, when there are
 * many. What fails is left for the end. */
void clp_family_sweep(const struct clp_recording *recording);

/* Adds what the others recorded to the profile of a process at its end, which gets a list of them all: of the
 * process that the run began with, or of another one, when that died without writing its profile. What cannot be
 * read or still runs is told. recording->summed gets the names of the files that are no longer needed.
 * CLP_NO_MEMORY leaves the profile with a part, as clp_profile_merge does. */
clp_status clp_family_add(struct clp_recording *recording, struct clp_profile *profile);

/* Takes those files away, once the profile has been written. */
void clp_family_remove(struct clp_recording *recording);

#endif
