/* SPDX-License-Identifier: MIT */
/* Which function of one profile is which of another, when the program was edited between, or lies
 * in another folder.
 *
 * Files first: the same path; else the longest common tail, where no other file on either side has
 * it. Then functions of the two files by their qualified name. Several of one name (a property's
 * getter and setter, lambdas) are aligned in the order in which they stand there: by their text, by
 * the first line of it, by their place. Names and texts are told apart by 64 bits of hash. */
#ifndef CLP_MATCH_H
#define CLP_MATCH_H

#include "align.h"
#include "profile/profile.h"

/* Sets to[i] for each function of a: its place in b or CLP_ALIGN_NONE. No two have the same place.
 * CLP_NO_MEMORY leaves `to` in any state. */
clp_status clp_match_functions(struct clp_align *align,
                               const struct clp_profile_function *const *a, size_t a_count,
                               const struct clp_profile_function *const *b, size_t b_count,
                               size_t *to);

#endif
