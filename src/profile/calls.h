/* SPDX-License-Identifier: MIT */
/* The tree of calling contexts of a profile: who called which function, from which line.
 *
 * A context's key is (parent, line, function, through); each key is there once. Parents stand before their children.
 *
 * Recursion is folded, so that the tree ends. No function occurs twice on a path, with one exception: a context whose
 * function already occurs among its ancestors is a leaf. What is called from a body of this leaf is counted in the
 * contexts below that ancestor, which is called the leaf's home:
 *
 *   main                          main calls f; f calls g, and f itself; that f calls g, too
 *    `- f                 (home)
 *        |- g                     all calls of g, from either f
 *        `- f             (leaf)  its home is the f above
 *
 * The home of every other context is the context itself. */
#ifndef CLP_CALLS_H
#define CLP_CALLS_H

#include "profile.h"

/* Finds the context with the key of `call`, or appends it, and adds the numbers of `call` to it. *place is its place
 * in profile->calls; NULL: the caller need not know. The parent must be there already. CLP_NO_MEMORY leaves the
 * profile as it was. */
clp_status clp_profile_add_call(struct clp_profile *profile, const struct clp_profile_call *call,
                                uint32_t *place);

/* Sets homes[i] to the place of the home of context i, for all profile->call_count contexts. Takes time in proportion
 * to their number, however deep the tree is. */
clp_status clp_profile_call_homes(const struct clp_profile *profile, uint32_t *homes);

/* Sets self[i] to the nanoseconds that the bodies of context i and of the leaves at home there took themselves,
 * without the contexts that they called. A leaf that is at home elsewhere has 0. The sum over all contexts is the time
 * of all contexts without a parent, as far as no number was rounded. */
clp_status clp_profile_call_selves(const struct clp_profile *profile, uint64_t *self);

/* Adds the contexts of `from` to `into`. functions[i] is the place in into->functions of function i of `from`, or
 * CLP_CALL_DEEPER where `into` lacks the function: then its contexts are left out, and what they called is called
 * through code that is not selected, from the line of the next context above that stays. */
clp_status clp_profile_merge_calls(struct clp_profile *into, const struct clp_profile *from,
                                   const uint32_t *functions);

#endif
