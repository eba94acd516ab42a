/* SPDX-License-Identifier: MIT */
/* Writes the verdicts on leaks as text: a list below the report, or one line for the message of a failed limit. */
#ifndef CLP_LEAK_REPORT_H
#define CLP_LEAK_REPORT_H

#include "base/buf.h"
#include "profile/profile.h"

/* Did the run search for leaks, and were there enough epochs for a verdict? */
bool clp_leak_report_judged(const struct clp_profile *profile);

/* The functions that had too few calls for a verdict, as text ("main (1 call)"), though others had enough. NULL: none. */
const char *clp_leak_report_unjudged(const struct clp_profile *profile);

/* Is an epoch a number of seconds (and not a call or a checkpoint)? */
bool clp_leak_report_by_time(const struct clp_profile_meta *meta);

/* Appends "5 epochs of 0.1 s, 8 needed". Only for the profile of a run that searched for leaks. */
void clp_leak_report_add_epochs(const struct clp_profile_meta *meta, struct clp_buf *out);

/* Appends a heading and a line per leak, the largest first. Without leaks it appends that no line leaks or that there
 * is no verdict, if the run searched for leaks, and otherwise nothing. Names the functions that could not be judged. File names under `folder` are shown relative
 * to it; NULL: in full. `marked`: a table (table.h) instead of the lines. */
void clp_leak_report_text(const struct clp_profile *profile, const char *folder, bool marked,
                          struct clp_buf *out);

/* Appends "2 lines leak: a.py:3 (1.5 MiB), b.py:7 (4.0 KiB)", or nothing where no line leaks. At most ten lines are
 * named. */
void clp_leak_report_names(const struct clp_profile *profile, const char *folder,
                             struct clp_buf *out);

#endif
