/* SPDX-License-Identifier: MIT */
/* The option --process: tells the processes of a profile apart. */
#ifndef CLP_BYPROCESS_H
#define CLP_BYPROCESS_H

#include "base/buf.h"
#include "profile/profile.h"

/* Reduces the profile to the processes that match one of the patterns (process numbers, or shell patterns for names;
 * ended by NULL). False after one line of complaint; the profile is then unchanged. */
bool clp_byprocess_pick(struct clp_profile *profile, char *const *patterns);

#endif
