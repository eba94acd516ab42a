/* SPDX-License-Identifier: MIT */
/* A comparison as people read it: a table for each function that changed, and a summary. What
 * matters most stands last, near the prompt. */
#ifndef CLP_DIFF_TEXT_H
#define CLP_DIFF_TEXT_H

#include "base/buf.h"
#include "limits.h"
#include "verdict.h"

struct clp_diff_text_options {
    double unit;        /* seconds per unit of times in the tables */
    const char *folder; /* file names under it are shown relative to it; NULL: as they are */
    size_t top;         /* so many functions at most; 0: all that changed */
    bool all;           /* unchanged functions and rows too */
};

/* Appends tables and summary. CLP_NO_MEMORY leaves the buffer with a part of it. */
clp_status clp_diff_text_add(const struct clp_comparison *comparison,
                             const struct clp_diff_text_options *options, struct clp_buf *out);

/* "12 slower, 3 new, .." of functions and of lines, a line each. */
void clp_diff_text_add_summary(const struct clp_comparison *comparison, struct clp_buf *out);

/* "FILE:LINE: NAME: " of a row, on the new side where it is there; row NULL: of the function. */
void clp_diff_text_add_place(const struct clp_compared_function *function,
                             const struct clp_compared_row *row, const char *folder,
                             struct clp_buf *out);

/* "20.1 ms -> 40.3 ms, +20.2 ms (+100.5 %)". */
void clp_diff_text_add_change(enum clp_measure measure, const struct clp_change *change,
                              struct clp_buf *out);

/* A line of its own: "FILE:LINE: NAME: MEASURE change breaks GATE: text". */
void clp_diff_text_add_breach(const struct clp_breach *breach, const char *folder,
                              struct clp_buf *out);

/* The row's text, on the new side where it is there, without the blanks around it. */
struct clp_span clp_diff_text_of(const struct clp_compared_row *row);

#endif
