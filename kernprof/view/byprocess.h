/* SPDX-License-Identifier: MIT */
/* The option --process: tells the processes of a profile apart. */
#ifndef CLP_BYPROCESS_H
#define CLP_BYPROCESS_H

#include "base/buf.h"
#include "profile/profile.h"

/* Reduces the profile to the processes that match one of the patterns (process numbers, or shell patterns for names;
 * ended by NULL). False after one line of complaint; the profile is then unchanged. */
bool clp_byprocess_pick(struct clp_profile *profile, char *const *patterns);

/* The option --by: calls show(data, part, heading) with the sum of each group of processes (`by`: "host", "rank" or
 * "process") until a call returns something other than 0, and returns what the last call returned. Returns 1 after one
 * line of complaint. */
int clp_byprocess_each(struct clp_profile *profile, const char *by,
                       int (*show)(const void *data, struct clp_profile *part, const char *heading), const void *data);

#endif
