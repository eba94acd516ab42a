/* SPDX-License-Identifier: MIT */
/* The viewer's option --by-statement: makes one line of a statement that stands on several. Python's ast finds the
 * statements in the source text of the profile. */
#ifndef CLP_FOLDING_H
#define CLP_FOLDING_H

#include "profile/profile.h"

/* Folds the lines of all functions. A function whose source text is missing or cannot be parsed stays as it is. */
void clp_folding_fold(struct clp_profile *profile);

#endif
