/* SPDX-License-Identifier: MIT */
/* The log of lines of a process that leaves a live file and no profile: NAME.lines beside NAME.live. The process writes
 * it when it ends. It holds what a profile keeps as the log of one process (docs/format.md). */
#ifndef CLP_LIVE_LINES_H
#define CLP_LIVE_LINES_H

#include "profile/profile.h"

/* Appends the name of the file that belongs to this live file. False: it is not named as a live file. */
bool clp_live_lines_name(const char *live_path, struct clp_buf *name);

/* Writes the newest log of the profile beside the live file. CLP_OK, too, if there is no log. */
clp_status clp_live_lines_write(const char *live_path, const struct clp_profile *profile, unsigned rights,
                                struct clp_fault *fault);

/* Adds the log to the profile. Nothing happens if there is no such file, or if it belongs to another user than the live
 * file. */
void clp_live_lines_add(const char *live_path, struct clp_profile *profile);

#endif
