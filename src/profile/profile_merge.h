/* SPDX-License-Identifier: MIT */
/* Adds profiles up. */
#ifndef CLP_PROFILE_MERGE_H
#define CLP_PROFILE_MERGE_H

#include "profile.h"

/* Adds everything in `from` to `into`. A function whose text differs from the text of the same function in `into` is
 * kept apart as "NAME (2)", "NAME (3)" and so on. A later function with the same key and the same text is added to the
 * function that was kept apart. CLP_NO_MEMORY leaves `into` partly merged but valid: it may still be printed and must
 * still be cleared. */
clp_status clp_profile_merge(struct clp_profile *into, const struct clp_profile *from);

#endif
