/* SPDX-License-Identifier: MIT */
/* Compares who called each function, and from which lines. Callers match as functions and lines do (compare.h). */
#ifndef CLP_COMPARE_CALLS_H
#define CLP_COMPARE_CALLS_H

#include "base/status.h"
#include "comparison.h"

/* Adds the calls to a comparison whose functions and rows are complete. Where only one side's profiles have calls,
 * nothing is compared and comparison->calls.missing is set. On CLP_NO_MEMORY the comparison has a part of them. */
clp_status clp_comparison_add_calls(struct clp_comparison *comparison);
void clp_comparison_clear_calls(struct clp_comparison *comparison);

#endif
