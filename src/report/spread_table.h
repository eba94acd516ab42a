/* SPDX-License-Identifier: MIT */
/* Prints how much the processes of a sum differ line by line: the table of --spread. */
#ifndef CLP_SPREAD_TABLE_H
#define CLP_SPREAD_TABLE_H

#include "base/buf.h"
#include "profile/profile.h"

/* How many lines the table shows. */
#define CLP_SPREAD_LINES 10

/* A line, and how much the self time differs between the processes. */
struct clp_spread_line {
    const struct clp_profile_function *function; /* borrowed */
    size_t line;       /* place in function->lines */
    uint64_t least;    /* nanoseconds; 0 where the line did not run in every process */
    uint64_t difference; /* nanoseconds between the most and the least */
};

/* Finds the lines that differ most, the first most, and returns how many there are; `all` is set to the number of lines
 * that differ at all. The profile must not have been read in place. */
size_t clp_spread_find(const struct clp_profile *profile, struct clp_spread_line found[CLP_SPREAD_LINES], size_t *all);

/* Appends the table below an empty line; nothing if the profile is of one process. `folder`: files below it are shown
 * without it. `marked`: see table.h. */
void clp_spread_table_add(const struct clp_profile *profile, const char *folder, bool marked, struct clp_buf *out);

#endif
