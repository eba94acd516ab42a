/* SPDX-License-Identifier: MIT */
/* Verdicts on leaks as text: below the report, and in one line for a gate. */
#ifndef CLP_LEAK_REPORT_H
#define CLP_LEAK_REPORT_H

#include "base/buf.h"
#include "profile/profile.h"

/* How many lines leak. */
size_t clp_leak_report_count(const struct clp_profile *profile);

/* Were lines that leak looked for, and was there enough to judge any by? */
bool clp_leak_report_judged(const struct clp_profile *profile);

/* Are epochs a number of seconds? */
bool clp_leak_report_by_time(const struct clp_profile_meta *meta);

/* Appends "5 epochs of 0.1 s, 8 needed"; where lines that leak were looked for. */
void clp_leak_report_add_epochs(const struct clp_profile_meta *meta, struct clp_buf *out);

/* Appends a line per leak, the largest first, under a heading; that there is none, or no verdict, where they
 * were looked for. Names of
 * files under `folder` are shown relative to it; NULL: as they are. */
void clp_leak_report_text(const struct clp_profile *profile, const char *folder,
                          struct clp_buf *out);

/* Appends "2 lines leak: a.py:3 (1.5 MiB), .." where there are any. */
void clp_leak_report_names(const struct clp_profile *profile, const char *folder,
                             struct clp_buf *out);

#endif
