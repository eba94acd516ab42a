/* SPDX-License-Identifier: MIT */
/* Verdicts on leaks as text: below the report, and in one line for a gate. */
#ifndef CLP_LEAK_REPORT_H
#define CLP_LEAK_REPORT_H

#include "base/buf.h"
#include "profile/profile.h"

/* How many lines leak. */
size_t clp_leak_report_count(const struct clp_profile *profile);

/* Appends a line per leak, the largest first, under a heading; nothing when there is none. Names of
 * files under `folder` are shown relative to it; NULL: as they are. */
void clp_leak_report_text(const struct clp_profile *profile, const char *folder,
                          struct clp_buf *out);

/* Appends "2 lines leak: a.py:3 (1.5 MiB), .." where there are any. */
void clp_leak_report_names(const struct clp_profile *profile, const char *folder,
                             struct clp_buf *out);

#endif
