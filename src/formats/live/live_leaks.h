/* SPDX-License-Identifier: MIT */
/* The verdicts on leaks in a live file: those of the last look that the process made (live.h, CLP_LIVE_LEAKS). */
#ifndef CLP_LIVE_LEAKS_H
#define CLP_LIVE_LEAKS_H

#include "live_copy.h"
#include "profile/profile.h"

/* A leak of the function with this number. */
struct clp_live_leak {
    uint32_t function;
    const struct clp_profile_leak *leak;
};

/* Writes what a look has found. Without memory nothing is written. */
void clp_live_note_leaks(struct clp_live *live, const struct clp_live_leak *leaks, size_t count, const char *epoch,
                         uint64_t epochs);

/* Adds the verdicts of the reader's last record of leaks to the profile, if there is one. CLP_CORRUPT: the record is
 * damaged, and the reader's fault says where. CLP_NO_MEMORY leaves a part in the profile. */
clp_status clp_live_fill_leaks(struct clp_live_reader *reader, struct clp_profile *profile);

#endif
