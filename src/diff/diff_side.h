/* SPDX-License-Identifier: MIT */
/* Builds one side of a comparison: the functions of its profiles, joined where several profiles have the same one, and
 * for each line of a function a pointer to its measures in each profile. Only the sums over whole functions are
 * copies; everything else points into the profiles. */
#ifndef CLP_DIFF_SIDE_H
#define CLP_DIFF_SIDE_H

#include "align.h"
#include "profile/profile.h"
#include "profile/source.h"

/* A line of a function: a line of its text, or a line outside of the text that ran. */
struct clp_diff_side_row {
    int64_t offset; /* from the function's first line */
    struct clp_span text; /* borrowed from the profile; NULL for a line outside of the text */
};

struct clp_diff_side_function {
    const struct clp_profile_function *base; /* borrowed; its text and line numbers are shown */
    struct clp_diff_side_row *rows;               /* ascending by offset */
    size_t row_count, row_room;
    size_t text_start, text_count; /* the rows with text: offsets 0 to text_count - 1 */
    const struct clp_measures **samples; /* row_count times clp_diff_side.files pointers; NULL where not run */
};

struct clp_diff_side {
    const struct clp_profile *profiles; /* borrowed */
    size_t files; /* the number of profiles */
    struct clp_diff_side_function *functions;
    size_t function_count;
    /* Three arrays of function_count times `files` items. A member is NULL where the profile lacks the function, and
     * so is its total_sample; the other total_samples point to totals. */
    const struct clp_profile_function **members;
    struct clp_measures *totals;
    const struct clp_measures **total_samples;
    size_t lost; /* lines that ran and were left out, because the shown text does not have them */
};

/* Builds *side from `count` profiles, which must outlive it. On CLP_NO_MEMORY *side holds a part and must still be
 * cleared. `mem` of clp_diff_side_clear is the one of `align`. */
clp_status clp_diff_side_make(struct clp_diff_side *side, struct clp_align *align,
                              const struct clp_profile *profiles, size_t count);
void clp_diff_side_clear(struct clp_diff_side *side, struct clp_mem *mem);

/* Returns a hash of the line without the blanks around it. Lines with equal hashes are taken as equal. */
uint64_t clp_diff_side_hash_line(struct clp_span line);

bool clp_diff_side_have_texts(const struct clp_profile_function *a, const struct clp_profile_function *b);
bool clp_diff_side_have_same_text(const struct clp_profile_function *a,
                                  const struct clp_profile_function *b);

#endif
