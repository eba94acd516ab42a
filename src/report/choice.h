/* SPDX-License-Identifier: MIT */
/* Which functions and lines of a profile are shown, and in what order. The report and every export
 * go by it, so that an option means the same to all of them. */
#ifndef CLP_CHOICE_H
#define CLP_CHOICE_H

#include "profile/profile.h"

/* By what functions are sorted: all ascending, so that what matters stands last, near the prompt. Behind the two
 * without a measure stands one for each measure of a line. */
#define CLP_CHOICE_ORDER_OF(field, ...) CLP_CHOICE_BY_##field,
enum clp_choice_order {
    CLP_CHOICE_BY_ORDER, /* in which functions were selected */
    CLP_CHOICE_BY_NAME,
    CLP_MEASURE_TABLE(CLP_CHOICE_ORDER_OF, CLP_CHOICE_ORDER_OF) CLP_CHOICE_ORDERS
};
#undef CLP_CHOICE_ORDER_OF

/* All zero: everything, in the order of selection. */
struct clp_choice_options {
    enum clp_choice_order order;
    bool raw_times;         /* times are as the clock saw them, the profiler's own cost left in */
    bool skip_zero;         /* leave out functions without a hit */
    char *const *functions; /* shell patterns for qualified names, ended by NULL; NULL: all */
    char *const *files;     /* the same for a path, the end of one or its base name; NULL: all */
    size_t top; /* only so many: those that matter most by the order's measure, which for orders
                 * without one (selection, name) is time; 0: all */
};

/* The order of this name, "order", "name" or a measure's; CLP_CHOICE_ORDERS when there is none. */
enum clp_choice_order clp_choice_order_named(const char *name);

/* The measure that lines are compared by, which for orders without one is time. */
enum clp_measure clp_choice_measure(enum clp_choice_order order);

/* Did any line of the function run? */
bool clp_choice_was_hit(const struct clp_profile *profile,
                        const struct clp_profile_function *function);

/* Has the profile neither a line that ran nor memory over time? */
bool clp_choice_is_idle(const struct clp_profile *profile);

/* The nanoseconds of a function that its lines' shares are of: its inclusive time; line_profiler knows
 * only the sum of its lines. */
uint64_t clp_choice_total(const struct clp_profile *profile,
                          const struct clp_profile_function *function, bool raw_times);

/* Places in profile->functions. The list is owned, free it with clp_choice_clear. */
struct clp_choice {
    struct clp_mem *mem; /* borrowed */
    size_t *places;
    size_t count, room;
};

/* CLP_NO_MEMORY leaves *choice empty. */
clp_status clp_choice_make(struct clp_choice *choice, const struct clp_profile *profile,
                           const struct clp_choice_options *options, struct clp_mem *mem);
void clp_choice_clear(struct clp_choice *choice);

/* Takes all else out of the profile and puts its functions in order. CLP_NO_MEMORY leaves it as it
 * was, or with a part of them. */
clp_status clp_choice_reduce(struct clp_profile *profile, const struct clp_choice_options *options);

/* A line of a profile: places in profile->functions and in the function's lines. */
struct clp_choice_line {
    size_t function, line;
    double key; /* what it is sorted by; descending */
};

/* The lines of these functions that matter most, at most `most`, the first of all first; *all is how
 * many had data. Orders as above; the result is an array of *count items, to be freed by
 * clp_mem_free. By selection and by name lines are in their functions' order. */
clp_status clp_choice_lines(const struct clp_choice *choice, const struct clp_profile *profile,
                            const struct clp_choice_options *options, size_t most,
                            struct clp_choice_line **lines, size_t *count, size_t *all);

/* Makes one line of those of a statement that spans several. starts[i] is where the statement that
 * holds line i of the source begins (lines counted from 1, starts[0] unused; below i or i). Hits are
 * those of its first line that has any; all else is merged. */
void clp_choice_fold(struct clp_profile_function *function, const int32_t *starts, size_t count);

#endif
