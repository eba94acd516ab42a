/* SPDX-License-Identifier: MIT */
/* Reads and checks limits. A limit says which change is not allowed; a broken limit fails a build.
 *
 *   time>+20%              breaks when a line's time rises by more than a fifth
 *   increment>+10MB        breaks when the memory that a line adds rises by more than 10 MB
 *   hits<-0                breaks when a line runs less often than before
 *   total>1.5s             breaks when a function takes longer than 1.5 s, whatever it took before
 *
 * An expression is one or several limits with commas between them. A limit is a MEASURE (profile/measures.h), > or <,
 * and +N% or -N% (a change, relative to before), +N UNIT or -N UNIT (a change), or N UNIT (the new value itself).
 *
 * A change within the noise floor, or within the spread of several files, counts as no change. A line that was not
 * there before counts as zero before, a line that is gone as zero after. A rise from zero is more than any number of
 * percent. */
#ifndef CLP_LIMIT_H
#define CLP_LIMIT_H

#include "profile/amount.h"
#include "verdict.h"

#define CLP_LIMITS_MOST 32

struct clp_limit {
    enum clp_measure measure;
    bool below; /* the limit is written with <, otherwise with > */
    enum { CLP_LIMIT_PERCENT, CLP_LIMIT_CHANGE, CLP_LIMIT_VALUE } kind;
    double amount;    /* with its sign; in percent, or in nanoseconds, bytes or hits */
    const char *text; /* borrowed from the expression; not ended by 0 */
    size_t bytes;
};

struct clp_limits {
    struct clp_limit items[CLP_LIMITS_MOST];
    size_t count;
};

/* Reads an expression, which must outlive the limits. For a wrong expression it returns false, appends "needs WHAT at
 * character N of 'EXPRESSION'" to `fault`, and leaves *limits as it was. */
bool clp_limits_parse(struct clp_limits *limits, const char *expression, struct clp_buf *fault);

/* Does this change break the limit? */
bool clp_limit_breaks(const struct clp_limit *limit, const struct clp_change *change);

/* Returns the first limit that cannot be checked because a side does not have the measure; NULL when all can be
 * checked. */
const struct clp_limit *clp_limits_find_unknown(const struct clp_limits *limits,
                                                const struct clp_comparison *comparison);

/* A broken limit. All pointers are borrowed. row is NULL when the function as a whole breaks the limit. */
struct clp_breach {
    const struct clp_limit *limit;
    const struct clp_compared_function *function;
    const struct clp_compared_row *row;
    struct clp_change change;
};

/* Calls `tell` for every broken limit, function by function in the comparison's order. Returns how often `tell` was
 * called. A breach is valid only during the call. */
size_t clp_limits_check(const struct clp_limits *limits, const struct clp_comparison *comparison,
                        void (*tell)(void *listener, const struct clp_breach *breach),
                        void *listener);

#endif
