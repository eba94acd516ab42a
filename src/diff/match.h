/* SPDX-License-Identifier: MIT */
/* Finds which function of one profile is which function of another profile, when the program was edited between the
 * two or lies in another folder.
 *
 * Files are matched first: by the same path, otherwise by the shortest tail of the path that no other file on either
 * side has. The cells of a notebook (In[4]) are one file. Then the functions of two matched files are matched by their qualified names. Several functions with one
 * name (a property's getter and setter, lambdas) are aligned in the order in which they stand in the file: by their
 * text, then by the first line of their text, then by their place. Names and texts are compared by 64-bit hashes. */
#ifndef CLP_MATCH_H
#define CLP_MATCH_H

#include "align.h"
#include "profile/profile.h"

/* Sets to[i] for each function of `a`: the index of its match in `b`, or CLP_ALIGN_NONE. No two functions get the same
 * index. With `renamed` two files also match if no others are left unmatched, as old.py and new.py. CLP_NO_MEMORY
 * leaves `to` in any state. */
clp_status clp_match_functions(struct clp_align *align,
                               const struct clp_profile_function *const *a, size_t a_count,
                               const struct clp_profile_function *const *b, size_t b_count,
                               bool renamed, size_t *to);

#endif
