/* SPDX-License-Identifier: MIT */
/* Prints a comparison for people: a table for each function that changed, and a summary. The function that changed
 * most stands last, near the prompt. */
#ifndef CLP_DIFF_TEXT_H
#define CLP_DIFF_TEXT_H

#include "base/buf.h"
#include "limits.h"
#include "verdict.h"

struct clp_diff_text_options {
    double unit;        /* seconds per unit of times in the tables; CLP_UNIT_AUTO (report/unit.h): the one that fits */
    bool marked;        /* marks the text for a terminal: report/table.h */
    const char *folder; /* borrowed; file names under this folder are shown relative to it; NULL: in full */
    size_t top;         /* shows at most so many functions; 0: all that changed */
    bool all;           /* shows unchanged functions and rows too */
};

/* Appends the tables and the summary. On CLP_NO_MEMORY `out` holds a part of them. */
clp_status clp_diff_text_add(const struct clp_comparison *comparison,
                             const struct clp_diff_text_options *options, struct clp_buf *out);

/* Appends the summary alone. Its last line is one sentence on what changed most. */
clp_status clp_diff_text_add_end(const struct clp_comparison *comparison,
                                 const struct clp_diff_text_options *options, struct clp_buf *out);

/* Appends one line: "FILE:LINE: NAME: MEASURE CHANGE breaks LIMIT: TEXT", where TEXT is the source line. */
void clp_diff_text_add_breach(const struct clp_breach *breach, const char *folder,
                              struct clp_buf *out);

#endif
