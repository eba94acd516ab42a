/* SPDX-License-Identifier: MIT */
/* memory_profiler's table, to the character, for those who read it by eye or by script.
 *
 * The function's first line has what the process held when the function began, and how often that
 * was. memory_profiler measures it; here it is the first executed line's, less what that added. */
#ifndef CLP_MEMORY_TABLE_H
#define CLP_MEMORY_TABLE_H

#include "base/buf.h"
#include "choice.h"
#include "profile/profile.h"

#define CLP_MEMORY_TABLE_PRECISION 3  /* digits behind the point, as its command line has it */
#define CLP_MEMORY_TABLE_MOST_DIGITS 9

struct clp_memory_table_options {
    size_t precision;
    struct clp_choice_options choice;
    const char *folder; /* files under it are shown relative to it; NULL: as they are */
    struct clp_drain drain;
};

/* Appends the tables of the functions that ran. CLP_NO_MEMORY leaves the buffer with a part. */
clp_status clp_memory_table_text(const struct clp_profile *profile,
                                 const struct clp_memory_table_options *options,
                                 struct clp_buf *out);

#endif
