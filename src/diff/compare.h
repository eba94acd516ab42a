/* SPDX-License-Identifier: MIT */
/* Two sides, each one profile or several of the same program, function by function and line by
 * line: what every measure was before, what it is after, and whether that is a change.
 *
 * Which function is which: diff/match.h. Lines of two functions with the same text go one by one;
 * where the text was edited they are aligned (diff/align.h) by their text without the white space
 * around it, so that a line which was only indented is the same line. A line that shares half of
 * its text with one that stands in its place was edited, and is the same line too; any other is gone
 * and a new one. Where a side has no text, lines are the same at the same distance from the first.
 *
 * Several profiles of a side are averaged, one that lacks a line counting as zero. A measure has
 * changed where
 *   - the ranges (smallest to largest) of the two sides do not overlap, and
 *   - the averages differ by more than the noise floor: for times both an absolute one and one by
 *     hit, for memory an absolute one, for hits none.
 *
 * The defaults. By hit 50 ns: an event of the profiler costs 7 to 12 ns, of which an average is
 * taken off (docs/overhead.md), so a line is wrong by up to some 5 ns for its own event and for each
 * in what it calls; and the same two lines differ by several from process to process, with where
 * their data happen to lie. 50 ns is ten events' worth. Absolute 1 ms: a line that runs once may
 * lose a slice of the processor. 64 KiB: sixteen pages, which an allocator may or may not have had
 * at hand. What they hide are small changes of very short lines: lower them where those matter. */
#ifndef CLP_COMPARE_H
#define CLP_COMPARE_H

#include "base/buf.h"
#include "comparison.h"
#include "base/status.h"

/* The floors; time and increment. */
struct clp_compare_options clp_compare_defaults(void);

/* Sets floors from amounts between commas: "5ms" the absolute one of times, "100ns/hit" the one by
 * hit, "1MiB" that of memory, "0" all of them. False, and what it needs appended to `fault`;
 * *options is then as it was. */
bool clp_compare_set_floor(struct clp_compare_options *options, const char *text,
                           struct clp_buf *fault);

/* Sets the measures from names between commas. Fails as clp_compare_set_floor does. */
bool clp_compare_set_measures(struct clp_compare_options *options, const char *names,
                              struct clp_buf *fault);

/* Profiles of a side. None at all: everything counts from zero. */
struct clp_compare_side {
    const struct clp_profile *profiles; /* borrowed */
    size_t count;
};

/* Compares; the profiles must outlive the result. CLP_NO_MEMORY leaves nothing to clear. */
clp_status clp_comparison_make(struct clp_comparison *comparison, struct clp_mem *mem,
                               const struct clp_compare_options *options,
                               const struct clp_compare_side sides[2]);
void clp_comparison_clear(struct clp_comparison *comparison);

#endif
