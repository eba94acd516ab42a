/* SPDX-License-Identifier: MIT */
/* Prints the processes of which a profile is the sum: the tables of --processes and --ranks. */
#ifndef CLP_PROCESS_TABLE_H
#define CLP_PROCESS_TABLE_H

#include "base/buf.h"
#include "profile/profile.h"

/* Appends the table below an empty line; nothing if the profile is of one process. `marked`: see table.h. */
void clp_process_table_add(const struct clp_profile *profile, bool marked, struct clp_buf *out);

/* Appends the table of ranks: as that of processes, but the processes of one rank are one row. */
void clp_rank_table_add(const struct clp_profile *profile, bool marked, struct clp_buf *out);

/* Appends a name for the process, as short as it can be: "rank 3", "4712" or "4712 on node7". */
void clp_process_add_label(const struct clp_profile *profile, const struct clp_profile_process *process,
                           struct clp_buf *out);

/* What --by puts together. */
enum clp_process_by { CLP_PROCESS_BY_process, CLP_PROCESS_BY_rank, CLP_PROCESS_BY_host };

/* Appends the name of the group that the process belongs to, one line. */
void clp_process_add_group(const struct clp_profile_process *process, enum clp_process_by by, struct clp_buf *out);

/* Do two processes belong to one group? */
bool clp_process_same_group(const struct clp_profile_process *one, const struct clp_profile_process *other,
                            enum clp_process_by by);

/* Is the process at this place the first one of its group? */
bool clp_process_is_first(const struct clp_profile *profile, size_t place, enum clp_process_by by);

#endif
