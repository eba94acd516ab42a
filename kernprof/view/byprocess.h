/* SPDX-License-Identifier: MIT */
/* A profile of several processes, by process: --processes and --process. */
#ifndef CLP_BYPROCESS_H
#define CLP_BYPROCESS_H

#include "base/buf.h"
#include "profile/profile.h"

/* Appends a table of the processes; nothing where there are none. */
void clp_byprocess_add_table(const struct clp_profile *profile, struct clp_buf *out);

/* Leaves of the profile what the processes have that match one of these (shell patterns for names, or
 * numbers; ended by NULL). False after one line of complaint. */
bool clp_byprocess_pick(struct clp_profile *profile, char *const *patterns);

#endif
