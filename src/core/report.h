/* SPDX-License-Identifier: MIT */
/* The annotated text table, exact to the character: line_profiler's where a profile has no
 * memory, and two more columns (Mem usage, Increment) where it has. */
#ifndef CLP_REPORT_H
#define CLP_REPORT_H

#include "buf.h"
#include "profile.h"

struct clp_report_options {
    double unit;           /* seconds per unit of the Time column; 1e-6 is the default */
    bool skip_zero;        /* -z: leave out functions without a hit */
    bool sort_by_time;     /* -t: ascending total time, so that the slowest stands last */
    bool summarize;        /* -m: a line per function at the end */
    bool no_memory;        /* the plain table although the profile has memory */
    bool raw_times;        /* as the clock saw them, the profiler's own cost left in */
    const char *folder;    /* file names under it are shown relative to it; NULL: as they are */
};

struct clp_report_options clp_report_defaults(void);

/* Appends the whole report. CLP_NO_MEMORY leaves the buffer with a part of it. */
clp_status clp_report_text(const struct clp_profile *profile,
                           const struct clp_report_options *options, struct clp_buf *out);

#endif
