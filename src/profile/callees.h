/* SPDX-License-Identifier: MIT */
/* What lines call: the callees of most time of each line, of C code and of library functions (--native). Callees that
 * took little are not in it. */
#ifndef CLP_CALLEES_OF_LINES_H
#define CLP_CALLEES_OF_LINES_H

#include "profile.h"

/* Adds a copy of the callee, or its time to the same callee of the line. CLP_NO_MEMORY leaves the function as it was. */
clp_status clp_callees_add(struct clp_profile *profile, struct clp_profile_function *function,
                           const struct clp_profile_callee *callee);

/* Adds the callees of `from`, a function of another profile. */
clp_status clp_callees_merge(struct clp_profile *profile, struct clp_profile_function *function,
                             const struct clp_profile_function *from);

/* The callee of this line that took the most time: of the library, or C code. NULL: none is known. */
const struct clp_profile_callee *clp_callees_most(const struct clp_profile_function *function, int32_t line,
                                                  bool library);

#endif
