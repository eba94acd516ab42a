/* SPDX-License-Identifier: MIT */
/* A comparison for GitHub: annotations, which its workflows read from a step's output and show
 * beside the lines, and Markdown for the page of the run.
 *
 * Everything that comes from the profiled program is escaped: in annotations as GitHub wants it
 * (%25, %0D, %0A, and in properties %3A, %2C), in Markdown as character references. */
#ifndef CLP_GITHUB_H
#define CLP_GITHUB_H

#include "base/buf.h"
#include "limits.h"
#include "verdict.h"

/* "::error file=..,line=..,title=..::.." and a line end. What is gone has a file and line of before,
 * which may not exist any more: it is named in the text only. */
void clp_github_add_breach(const struct clp_breach *breach, const char *folder,
                           struct clp_buf *out);

/* A warning for each line that became slower or grew, those of the functions that changed most
 * first: GitHub shows ten of a step. CLP_NO_MEMORY leaves a part of it. */
clp_status clp_github_add_warnings(const struct clp_comparison *comparison, const char *folder,
                                   struct clp_buf *out);

/* The functions that changed, as a table; no more than `top` of them (0: 50). */
clp_status clp_github_add_summary(const struct clp_comparison *comparison, const char *folder,
                                  size_t top, struct clp_buf *out);

/* A row of the table of broken limits, and what stands above the first. */
void clp_github_add_breach_head(struct clp_buf *out);
void clp_github_add_breach_row(const struct clp_breach *breach, const char *folder,
                               struct clp_buf *out);

#endif
