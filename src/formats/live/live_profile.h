/* SPDX-License-Identifier: MIT */
/* From the reader's engine to a profile, with what the header and the records tell beside it. */
#ifndef CLP_LIVE_PROFILE_H
#define CLP_LIVE_PROFILE_H

#include "live_copy.h"
#include "profile/profile.h"

/* Fills the empty profile. CLP_NO_MEMORY leaves a part in it; the reader's fault is as it was. */
clp_status clp_live_make_profile(struct clp_live_reader *reader, struct clp_profile *profile);

#endif
