/* SPDX-License-Identifier: MIT */
/* Prints memory_profiler's table, equal to the character, for people and scripts that read that table.
 *
 * The function's first line shows the memory of the process when the function began, and how often the function
 * began. memory_profiler measures this memory. Here it is computed from the first executed line: the line's memory
 * less its average increment. */
#ifndef CLP_MEMORY_TABLE_H
#define CLP_MEMORY_TABLE_H

#include "base/buf.h"
#include "choice.h"
#include "profile/profile.h"

#define CLP_MEMORY_TABLE_PRECISION 3  /* digits behind the point; memory_profiler's command line has the same default */
#define CLP_MEMORY_TABLE_MOST_DIGITS 9

struct clp_memory_table_options {
    size_t precision;   /* digits behind the point, at most CLP_MEMORY_TABLE_MOST_DIGITS */
    struct clp_choice_options choice;
    const char *folder; /* borrowed; file names under this folder are shown relative to it; NULL: in full */
    bool marked;        /* see table.h */
    struct clp_drain drain;
};

/* Appends the tables of the chosen functions that ran. On CLP_NO_MEMORY `out` holds a part of the tables. */
clp_status clp_memory_table_text(const struct clp_profile *profile,
                                 const struct clp_memory_table_options *options,
                                 struct clp_buf *out);

#endif
