/* SPDX-License-Identifier: MIT */
/* The annotated text table, exact to the character: line_profiler's where a profile has no
 * memory, and two more columns (Mem usage, Increment) where it has; or the columns that are asked
 * for. The line's number stands first and its text last, always. Or one table of the hottest lines of
 * all functions. */
#ifndef CLP_REPORT_H
#define CLP_REPORT_H

#include "base/buf.h"
#include "choice.h"
#include "columns.h"
#include "profile/profile.h"

struct clp_report_options {
    double unit;           /* seconds per unit of the Time column; 1e-6 is the default */
    struct clp_choice_options choice;
    struct clp_columns columns; /* none: the usual ones */
    struct clp_widths widths;
    bool self;             /* to the usual ones those without selected callees */
    size_t lines;          /* not 0: so many lines in one table, the hottest first */
    /* Rows that take less than this many percent of their function's time, and those without data next
     * to them, are folded, unless the line adds or gives back as large a part of the memory that the
     * function's lines move, or is running. The head of the function stays. */
    double min_percent;
    bool no_details;       /* no tables: what is left is the summary */
    bool summarize;        /* -m: a line per function at the end */
    bool no_memory;        /* the plain table although the profile has memory */
    bool footer;           /* what the numbers are worth, even where the table is line_profiler's */
    bool footer_details;   /* how they came about */
    bool marked;           /* for colours: see table.h */
    const char *folder;    /* file names under it are shown relative to it; NULL: as they are */
    struct clp_drain drain;
};

struct clp_report_options clp_report_defaults(void);

/* Appends the whole report, or what `drain` has left of it. CLP_NO_MEMORY leaves the buffer with a part. */
clp_status clp_report_text(const struct clp_profile *profile,
                           const struct clp_report_options *options, struct clp_buf *out);

#endif
