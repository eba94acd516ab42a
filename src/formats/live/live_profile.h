/* SPDX-License-Identifier: MIT */
/* Makes a profile from the reader's engine, and from what the header and the records say. */
#ifndef CLP_LIVE_PROFILE_H
#define CLP_LIVE_PROFILE_H

#include "live_copy.h"
#include "profile/profile.h"

/* Fills the empty profile. CLP_NO_MEMORY leaves a part in it, and the reader's fault as it was. */
clp_status clp_live_make_profile(struct clp_live_reader *reader, struct clp_profile *profile);

#endif
