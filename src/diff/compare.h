/* SPDX-License-Identifier: MIT */
/* Compares two sides, function by function and line by line. A side is one profile or several profiles of the same
 * program. For every measure the comparison says what it was before, what it is after, and whether it changed.
 *
 * diff/match.h matches the functions. The lines of two functions with the same text are matched one by one. The lines
 * of an edited text are aligned (diff/align.h) by their text without the white space around it, so that a line which
 * was only indented stays the same line. A line that shares half of its text with a line in its place is an edited
 * line, and also counts as the same line. Every other line is gone or new. Where a side has no text, lines at the same
 * distance from the function's first line are the same.
 *
 * The profiles of a side are averaged; a profile that lacks a line counts as zero. A measure has changed where
 *   - the ranges (smallest to largest) of the two sides do not overlap or, with a confidence, the difference is real
 *     (diff/significance.h), and
 *   - the averages differ by more than the noise floor: for times by more than an absolute floor and a floor per hit,
 *     for memory by more than an absolute floor; hits have no floor.
 *
 * The default floors:
 *   50 ns per hit  An event of the profiler costs 7 to 12 ns, and an average cost is subtracted (docs/overhead.md). So
 *                  a line's time is wrong by up to about 5 ns for its own event and for each event in its callees.
 *                  The same line also differs by several ns from process to process, depending on where its data
 *                  lie. 50 ns is the error of ten events.
 *   1 ms           A line that runs once may lose a time slice of the processor.
 *   64 KiB         Sixteen pages, which an allocator may or may not have free already.
 * These floors hide small changes of very short lines: lower them where such changes matter. */
#ifndef CLP_COMPARE_H
#define CLP_COMPARE_H

#include "base/buf.h"
#include "comparison.h"
#include "base/status.h"

/* Returns the default floors, and time and increment as the measures. */
struct clp_compare_options clp_compare_defaults(void);

/* Sets floors from amounts with commas between them: "5ms" is the absolute floor of times, "100ns/hit" the floor per
 * hit, "1MiB" the floor of memory, and "0" sets all floors to 0. For any other text it returns false, appends to
 * `fault` what is needed, and leaves *options as it was. */
bool clp_compare_set_floor(struct clp_compare_options *options, const char *text,
                           struct clp_buf *fault);

/* The profiles of a side. A side without profiles counts as zero everywhere. */
struct clp_compare_side {
    const struct clp_profile *profiles; /* borrowed */
    size_t count;
};

/* Compares the two sides. The profiles and `mem` must outlive *comparison. CLP_NO_MEMORY leaves nothing to clear. */
clp_status clp_comparison_make(struct clp_comparison *comparison, struct clp_mem *mem,
                               const struct clp_compare_options *options,
                               const struct clp_compare_side sides[2]);
void clp_comparison_clear(struct clp_comparison *comparison);

/* Returns the mark of a row: + new, - gone, ~ edited, else a blank. No row is marked where a side's text is not known:
 * a line that did not run on this side may still stand in its text. */
char clp_comparison_mark(const struct clp_compared_function *function, const struct clp_compared_row *row);

#endif
