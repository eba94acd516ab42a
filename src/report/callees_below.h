/* SPDX-License-Identifier: MIT */
/* Says below a function's table what its lines spend their time in (--native): the callees of most time, by line. */
#ifndef CLP_CALLEES_BELOW_H
#define CLP_CALLEES_BELOW_H

#include "base/buf.h"
#include "profile/profile.h"

/* Appends the callees that took at least 1 % of the function's time, at most eight. Appends nothing where there are
 * none. */
void clp_callees_below_add(struct clp_buf *out, const struct clp_profile_function *function);

#endif
