/* SPDX-License-Identifier: MIT */
/* The end of a recording, for ckernprof (finish.c) and for clineprof.profile (api_recording.c). It has three steps:
 *
 *   stop     ends the counting
 *   gather   makes the profile of this process and of the others in its run; the caller then writes the profile, or
 *            finds that no line has run
 *   close    removes the live files
 *
 * clineprof.profile may gather several times, and without a stop, as profile.show() does. */
#ifndef CLP_ENDING_H
#define CLP_ENDING_H

#include "run/processes/recording.h"
#include "timeline.h"

/* Stops the profiler, its saves and the timeline (NULL: there is none). */
void clp_ending_stop(struct clp_recording *recording, struct clp_timeline *timeline);

/* Fills an empty profile. `timeline` may be NULL. `command` is the program's command line, for readers. When memory
 * runs out, the profile gets a part of the counts, and a message says so. */
void clp_ending_gather(struct clp_recording *recording, struct clp_timeline *timeline, const char *command,
                       struct clp_profile *profile);

/* Removes the live files whose counts the profile holds if the profile has been written. If not, they stay, and a
 * message names this process's own. */
void clp_ending_close(struct clp_recording *recording, bool written);

#endif
