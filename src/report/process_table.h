/* SPDX-License-Identifier: MIT */
/* Prints the processes of which a profile is the sum: the table of --processes. */
#ifndef CLP_PROCESS_TABLE_H
#define CLP_PROCESS_TABLE_H

#include "base/buf.h"
#include "profile/profile.h"

/* Appends the table below an empty line; nothing if the profile is of one process. `marked`: see table.h. */
void clp_process_table_add(const struct clp_profile *profile, bool marked, struct clp_buf *out);

#endif
