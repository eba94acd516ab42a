/* SPDX-License-Identifier: MIT */
/* The end of a recording, for ckernprof (finish.c) and for clineprof.profile (api_recording.c):
 *
 *   stop     nothing counts any more
 *   gather   the profile: what this process has counted, and those that take part in the run
 *            .. the caller writes it, or finds nothing in it
 *   close    the live files go away
 *
 * clineprof.profile may gather more than once, and without stopping: profile.show(). */
#ifndef CLP_ENDING_H
#define CLP_ENDING_H

#include "run/processes/recording.h"
#include "timeline.h"

/* Stops the profiler, its saves and the timeline, which is NULL where there is none. */
void clp_ending_stop(struct clp_recording *recording, struct clp_timeline *timeline);

/* Fills an empty profile. `command` is the program's command line, for readers. Where memory runs out the profile
 * has a part, and that is told. */
void clp_ending_gather(struct clp_recording *recording, struct clp_timeline *timeline, const char *command,
                       struct clp_profile *profile);

/* Where the profile has been written, its live files are removed; else they stay, and this process's is told. */
void clp_ending_close(struct clp_recording *recording, bool written);

#endif
