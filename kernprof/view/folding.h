/* SPDX-License-Identifier: MIT */
/* --by-statement in the viewer: the lines of a statement that spans several become one. What is a
 * statement, Python's own ast says of the source in the profile. */
#ifndef CLP_FOLDING_H
#define CLP_FOLDING_H

#include "profile/profile.h"

/* A function whose source is not there, or is no statement by itself, stays as it is. */
void clp_folding_fold(struct clp_profile *profile);

#endif
