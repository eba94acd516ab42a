/* SPDX-License-Identifier: MIT */
/* Gates: what a change may not do, or a build fails.
 *
 *   time>+20%              a line's time rose by more than a fifth
 *   increment>+10MB        .. the memory it adds, by more than 10 MB
 *   hits<-0                a line ran less often than before
 *   total>1.5s             a function takes longer than that, whatever it took before
 *
 * One expression is several gates with commas between: MEASURE (profile/measure.h), > or <, and +N% or
 * -N% (change, relative to before), +N UNIT or -N UNIT (change), N UNIT (the new value itself).
 *
 * A change within the noise floor, or within the spread of several files, counts as none. What was
 * not there before counts from zero, and what is gone is zero; from zero every rise is more than any
 * number of percent. */
#ifndef CLP_GATE_H
#define CLP_GATE_H

#include "profile/measure.h"
#include "verdict.h"

#define CLP_GATES_MOST 32

struct clp_gate {
    enum clp_measure measure;
    bool below; /* < */
    enum { CLP_GATE_PERCENT, CLP_GATE_CHANGE, CLP_GATE_LIMIT } kind;
    double amount;    /* with its sign; percent, or nanoseconds, bytes, times */
    const char *text; /* borrowed from the expression; not ended by 0 */
    size_t bytes;
};

struct clp_gates {
    struct clp_gate items[CLP_GATES_MOST];
    size_t count;
};

/* Reads an expression, which must outlive the gates. False, and "needs .. at character N of '..'"
 * appended to `fault`; *gates is then as it was. */
bool clp_gates_parse(struct clp_gates *gates, const char *expression, struct clp_buf *fault);

/* Does this change break the gate? */
bool clp_gate_breaks(const struct clp_gate *gate, const struct clp_change *change);

/* The first gate that cannot be checked, because a side has no such numbers; NULL when all can. */
const struct clp_gate *clp_gates_find_unknown(const struct clp_gates *gates,
                                              const struct clp_comparison *comparison);

/* What broke a gate. row is NULL when it is the function as a whole. */
struct clp_breach {
    const struct clp_gate *gate;
    const struct clp_compared_function *function;
    const struct clp_compared_row *row;
    struct clp_change change;
};

/* Calls `tell` for everything that breaks a gate, function by function in the comparison's order,
 * and says how often it did. */
size_t clp_gates_check(const struct clp_gates *gates, const struct clp_comparison *comparison,
                       void (*tell)(void *listener, const struct clp_breach *breach),
                       void *listener);

#endif
