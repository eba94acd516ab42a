/* SPDX-License-Identifier: MIT */
/* What the numbers of a comparison say: which are changes, what is slower, grown, new or gone. */
#ifndef CLP_VERDICT_H
#define CLP_VERDICT_H

#include "comparison.h"
#include "base/status.h"

struct clp_side_range {
    double mean, low, high;
};

struct clp_change {
    struct clp_side_range before, after;
    double change;  /* of the averages */
    double percent; /* of the one before; INFINITY from zero, 0 where nothing changed */
    bool changed;   /* beyond range and noise */
};

struct clp_change clp_comparison_change(const struct clp_comparison *comparison,
                                        const struct clp_side_samples *samples,
                                        enum clp_measure measure);

/* Did it run, in any profile of the side? */
bool clp_comparison_ran(const struct clp_comparison *comparison, const struct clp_side_samples *samples,
                        int side);

/* Bits, 1 << verdict. A row is new or gone when it ran on a side and stands on no line of the other;
 * nothing else is said of it then. A function has no verdict by hits. */
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

/* Sets the verdicts of all functions and rows. */
void clp_comparison_judge(struct clp_comparison *comparison);

/* The functions in which something changed (or all of them), the largest change first: that of the
 * first measure, then of the next ones. */
struct clp_comparison_list {
    size_t *places; /* in comparison->functions */
    size_t count, room;
};

clp_status clp_comparison_list_make(struct clp_comparison_list *list,
                                    const struct clp_comparison *comparison, bool all);
void clp_comparison_list_clear(struct clp_comparison_list *list, struct clp_mem *mem);

/* How many functions and lines have each verdict. */
struct clp_comparison_tally {
    size_t functions[CLP_VERDICTS], lines[CLP_VERDICTS];
    size_t within;    /* functions without a verdict, but with a line that has one */
    size_t unchanged; /* functions */
};

struct clp_comparison_tally clp_comparison_count(const struct clp_comparison *comparison);

#endif
