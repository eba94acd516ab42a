/* SPDX-License-Identifier: MIT */
/* The missed lines of a function: those that hold code, and that never began. They tell a line that was not reached
 * from a line without code, such as a comment. Coverage tools call them missing. */
#ifndef CLP_MISSED_H
#define CLP_MISSED_H

#include "profile.h"

/* Adds a line, unless it is there. Lines may come in any order; ascending ones are the quickest. CLP_NO_MEMORY leaves
 * the function as it was. */
clp_status clp_missed_add(struct clp_profile *profile, struct clp_profile_function *function, int32_t line);

/* Adds the missed lines of `from`, and leaves out those that ran in either. The lines of `from` must have been merged
 * before. CLP_NO_MEMORY leaves the function as it was. */
clp_status clp_missed_merge(struct clp_profile *profile, struct clp_profile_function *into,
                            const struct clp_profile_function *from);

/* Leaves out the missed lines that are among the function's lines. */
void clp_missed_drop_lines(struct clp_profile_function *function);

/* Is the line missed? *at is 0 at first. Lines must be asked in ascending order; each call moves *at on. */
bool clp_missed_is(const struct clp_profile_function *function, size_t *at, int64_t line);

#endif
