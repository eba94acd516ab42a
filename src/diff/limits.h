/* SPDX-License-Identifier: MIT */
/* Limits: what a change may not do, or a build fails.
 *
 *   time>+20%              a line's time rose by more than a fifth
 *   increment>+10MB        .. the memory it adds, by more than 10 MB
 *   hits<-0                a line ran less often than before
 *   total>1.5s             a function takes longer than that, whatever it took before
 *
 * One expression is several limits with commas between: MEASURE (profile/measure.h), > or <, and +N% or
 * -N% (change, relative to before), +N UNIT or -N UNIT (change), N UNIT (the new value itself).
 *
 * A change within the noise floor, or within the spread of several files, counts as none. What was
 * not there before counts from zero, and what is gone is zero; from zero every rise is more than any
 * number of percent. */
#ifndef CLP_LIMIT_H
#define CLP_LIMIT_H

#include "profile/measure.h"
#include "verdict.h"

#define CLP_LIMITS_MOST 32

struct clp_limit {
    enum clp_measure measure;
    bool below; /* < */
    enum { CLP_LIMIT_PERCENT, CLP_LIMIT_CHANGE, CLP_LIMIT_VALUE } kind;
    double amount;    /* with its sign; percent, or nanoseconds, bytes, times */
    const char *text; /* borrowed from the expression; not ended by 0 */
    size_t bytes;
};

struct clp_limits {
    struct clp_limit items[CLP_LIMITS_MOST];
    size_t count;
};

/* Reads an expression, which must outlive the limits. False, and "needs .. at character N of '..'"
 * appended to `fault`; *limits is then as it was. */
bool clp_limits_parse(struct clp_limits *limits, const char *expression, struct clp_buf *fault);

/* Does this change break the limit? */
bool clp_limit_breaks(const struct clp_limit *limit, const struct clp_change *change);

/* The first limit that cannot be checked, because a side has no such numbers; NULL when all can. */
const struct clp_limit *clp_limits_find_unknown(const struct clp_limits *limits,
                                                const struct clp_comparison *comparison);

/* What broke a limit. row is NULL when it is the function as a whole. */
struct clp_breach {
    const struct clp_limit *limit;
    const struct clp_compared_function *function;
    const struct clp_compared_row *row;
    struct clp_change change;
};

/* Calls `tell` for everything that breaks a limit, function by function in the comparison's order,
 * and says how often it did. */
size_t clp_limits_check(const struct clp_limits *limits, const struct clp_comparison *comparison,
                        void (*tell)(void *listener, const struct clp_breach *breach),
                        void *listener);

#endif
