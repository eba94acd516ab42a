/* SPDX-License-Identifier: MIT */
/* Judges the numbers of a comparison: which of them are changes, and which lines and functions are slower, grown, new
 * or gone. */
#ifndef CLP_VERDICT_H
#define CLP_VERDICT_H

#include "comparison.h"
#include "base/status.h"

/* The values of a measure in the profiles of one side: nanoseconds, bytes or hits. */
struct clp_side_range {
    double mean, low, high;
};

struct clp_change {
    struct clp_side_range before, after;
    double change;  /* the average after less the average before */
    double percent; /* the change in percent of the average before; +-INFINITY from zero, 0 without change */
    double chance;  /* with a confidence: of such a change where there is none (significance.h); else 0 */
    double margin;  /* with a confidence: half the width of the interval around the change; else 0 */
    bool changed;   /* the change is larger than the noise floor and not by chance: the ranges do not overlap or, with */
                    /* a confidence, the change is real */
};

struct clp_change clp_comparison_change(const struct clp_comparison *comparison,
                                        const struct clp_side_samples *samples,
                                        enum clp_measure measure);

/* With a confidence: the smallest change that would count where the runs are spread as they are, and all other numbers
 * that are tested are unchanged. */
double clp_comparison_least(const struct clp_comparison *comparison, const struct clp_side_samples *samples,
                            enum clp_measure measure);

/* Did the line or function run in any profile of the side? */
bool clp_comparison_ran(const struct clp_comparison *comparison, const struct clp_side_samples *samples,
                        int side);

/* The verdicts of a row or function are bits, 1 << verdict. A row is new or gone when it ran on one side and the other
 * side does not have the line; then it has no other verdict. Functions get no verdict for more or fewer hits. */
#define CLP_VERDICT_TABLE(X) \
    X(SLOWER, "slower")      \
    X(FASTER, "faster")      \
    X(GROWN, "grown")        \
    X(SHRUNK, "shrunk")      \
    X(NEW, "new")            \
    X(GONE, "gone")          \
    X(MORE, "more hits")     \
    X(FEWER, "fewer hits")

#define CLP_VERDICT_PLACE(verdict, text) CLP_VERDICT_##verdict,
enum clp_verdict { CLP_VERDICT_TABLE(CLP_VERDICT_PLACE) CLP_VERDICTS };
#undef CLP_VERDICT_PLACE

const char *clp_verdict_text(enum clp_verdict verdict);

static inline bool clp_verdict_is(unsigned verdicts, enum clp_verdict verdict)
{
    return (verdicts >> verdict & 1) != 0;
}

/* With a confidence: tests the measures of all lines and functions, and sets which chances are real. A number whose
 * values all lie within the noise floor cannot change, so it is not tested. Without one it does nothing. */
clp_status clp_comparison_test(struct clp_comparison *comparison);

/* Sets the verdicts of all functions and rows. */
void clp_comparison_judge(struct clp_comparison *comparison);

/* The functions in which something changed (or all functions), the largest change first: sorted by the change of the
 * first measure, and where it is equal by the change of the second. */
struct clp_comparison_list {
    size_t *places; /* indices in comparison->functions; owned */
    size_t count, room;
};

/* Makes the list. CLP_NO_MEMORY leaves *list as it was, and nothing to clear. Clear with the comparison's `mem`. */

clp_status clp_comparison_list_make(struct clp_comparison_list *list,
                                    const struct clp_comparison *comparison, bool all);
void clp_comparison_list_clear(struct clp_comparison_list *list, struct clp_mem *mem);

/* How many functions have each verdict, and how many lines of the functions that both sides have. */
struct clp_comparison_tally {
    size_t functions[CLP_VERDICTS], lines[CLP_VERDICTS];
    size_t within;    /* functions without a verdict, but with a line that has one */
    size_t unchanged; /* functions without a verdict in any line */
};

struct clp_comparison_tally clp_comparison_count(const struct clp_comparison *comparison);

#endif
