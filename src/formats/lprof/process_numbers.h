/* SPDX-License-Identifier: MIT */
/* The profile of several processes has a row for each of them (struct clp_profile_process). A row's `numbers`
 * are what that process counted, the bytes of a .lprof without source: a sum can be taken apart again. */
#ifndef CLP_PROCESS_NUMBERS_H
#define CLP_PROCESS_NUMBERS_H

#include "profile/profile.h"
#include <stdbool.h>

/* Adds a row for the process of the profile `one`, with its numbers. What is not in there: its parent, and its
 * name, "" where it has none, which is copied. CLP_NO_MEMORY leaves the sum as it was. */
clp_status clp_process_numbers_add(struct clp_profile *sum, const struct clp_profile *one,
                                   uint64_t parent, const char *name);

/* Adds the numbers of a process to the sum, and its row. */
clp_status clp_process_numbers_merge(struct clp_profile *sum, const struct clp_profile_process *process,
                                     struct clp_fault *fault);

/* Gives the functions of `into`, which come without, their source. `from` has all of them, or gets them. */
clp_status clp_process_numbers_copy_sources(struct clp_profile *into, struct clp_profile *from);

/* Leaves of the profile what the processes have for which keeps(data, process) holds. CLP_CORRUPT when
 * their numbers were not kept apart, or are damaged; then, and without memory, it is as it was. */
clp_status clp_process_numbers_keep(struct clp_profile *profile,
                                    bool (*keeps)(const void *data,
                                                  const struct clp_profile_process *process),
                                    const void *data);

#endif
