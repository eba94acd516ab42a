/* SPDX-License-Identifier: MIT */
/* The sum of profiles. */
#ifndef CLP_PROFILE_MERGE_H
#define CLP_PROFILE_MERGE_H

#include "profile.h"

/* Adds everything in `from` to `into`. A function whose text is another than that of the same
 * function in `into` is kept apart, as "NAME (2)", "NAME (3)" and so on; one of that text which
 * comes later joins it. CLP_NO_MEMORY leaves `into` partly merged but whole: it may
 * still be printed and must still be cleared. */
clp_status clp_profile_merge(struct clp_profile *into, const struct clp_profile *from);

#endif
