/* SPDX-License-Identifier: MIT */
/* One side of a comparison: the functions of its profiles, which of them are the same, and for each
 * line of a function a pointer to its measures in each profile. Nothing of the profiles is copied
 * but sums over whole functions. */
#ifndef CLP_DIFF_SIDE_H
#define CLP_DIFF_SIDE_H

#include "align.h"
#include "profile/profile.h"
#include "profile/source.h"

/* A line of a function: of its text, or one that ran outside of it. */
struct clp_diff_side_row {
    int64_t offset; /* from the function's first line */
    struct clp_span text;
};

struct clp_diff_side_function {
    const struct clp_profile_function *base; /* whose text and line numbers are shown */
    struct clp_diff_side_row *rows;               /* ascending by offset */
    size_t row_count, row_room;
    size_t text_start, text_count; /* the rows with text: offsets 0 to text_count - 1 */
    const struct clp_measures **samples; /* row_count times the number of profiles */
};

struct clp_diff_side {
    const struct clp_profile *profiles; /* borrowed */
    size_t files;
    struct clp_diff_side_function *functions;
    size_t function_count;
    /* function_count times files each; a member is NULL where the profile lacks the function */
    const struct clp_profile_function **members;
    struct clp_measures *totals;
    const struct clp_measures **total_samples;
    size_t lost; /* lines that ran and are in no shown text, left out */
};

/* Of so many profiles, which must outlive it. CLP_NO_MEMORY leaves a part of it, to be cleared. */
clp_status clp_diff_side_make(struct clp_diff_side *side, struct clp_align *align,
                              const struct clp_profile *profiles, size_t count);
void clp_diff_side_clear(struct clp_diff_side *side, struct clp_mem *mem);

/* A hash of the line without the blanks around it: lines are equal by it. */
uint64_t clp_diff_side_hash_line(struct clp_span line);

bool clp_diff_side_have_texts(const struct clp_profile_function *a, const struct clp_profile_function *b);
bool clp_diff_side_have_same_text(const struct clp_profile_function *a,
                                  const struct clp_profile_function *b);

#endif
