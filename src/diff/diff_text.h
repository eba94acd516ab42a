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

/* A line of its own: "FILE:LINE: NAME: MEASURE change breaks GATE: text". */
void clp_diff_text_add_breach(const struct clp_breach *breach, const char *folder,
                              struct clp_buf *out);

#endif
