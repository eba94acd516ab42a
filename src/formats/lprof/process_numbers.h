/* SPDX-License-Identifier: MIT */
/* The profile of several processes has a row for each process (struct clp_profile_process). The `numbers` of a
 * row are what that process counted, as the bytes of a .lprof without source. With them a sum can be taken
 * apart again. */
#ifndef CLP_PROCESS_NUMBERS_H
#define CLP_PROCESS_NUMBERS_H

#include "profile/profile.h"
#include <stdbool.h>

/* Adds the row of its process to a profile of one process that has no rows yet. `parent` and `name` (copied; "": none)
 * are not in the profile. apart: the row gets the numbers, unless memory for them runs out. CLP_NO_MEMORY leaves the
 * profile as it was. */
clp_status clp_process_numbers_add(struct clp_profile *one, uint64_t parent, const char *name, bool apart);

/* Adds the numbers of a process to the sum, and its row. On failure *fault says why if the numbers are damaged. */
clp_status clp_process_numbers_merge(struct clp_profile *sum, const struct clp_profile_process *process,
                                     struct clp_fault *fault);

/* Gives the functions of `into` the source that `from` has for them. A function that `from` does not have is
 * added to it. */
clp_status clp_process_numbers_copy_sources(struct clp_profile *into, struct clp_profile *from);

/* Reduces the profile to the processes for which keeps(data, process) is true. CLP_CORRUPT when their numbers
 * were not kept apart, or are damaged. On failure the profile is as it was. */
clp_status clp_process_numbers_keep(struct clp_profile *profile,
                                    bool (*keeps)(const void *data,
                                                  const struct clp_profile_process *process),
                                    const void *data);

#endif
