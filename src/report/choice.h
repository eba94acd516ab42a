/* SPDX-License-Identifier: MIT */
/* Chooses which functions and lines of a profile are shown, and in what order. The report and every export use this
 * choice, so that an option means the same in all of them. */
#ifndef CLP_CHOICE_H
#define CLP_CHOICE_H

#include "profile/profile.h"

/* Says by what functions are sorted: by selection, by name, or by one of the measures of a line. Every order is
 * ascending, so that the largest function stands last, near the prompt. */
#define CLP_CHOICE_ORDER_OF(field, ...) CLP_CHOICE_BY_##field,
enum clp_choice_order {
    CLP_CHOICE_BY_ORDER, /* the order in which functions were selected */
    CLP_CHOICE_BY_NAME,
    CLP_MEASURE_TABLE(CLP_CHOICE_ORDER_OF, CLP_CHOICE_ORDER_OF) CLP_CHOICE_ORDERS
};
#undef CLP_CHOICE_ORDER_OF

/* Options of a choice. All zero: every function, in the order of selection. Pointers are borrowed. */
struct clp_choice_options {
    enum clp_choice_order order;
    bool raw_times;         /* uses times as the clock saw them, with the profiler's own cost left in */
    bool skip_zero;         /* leaves out functions without a hit */
    /* In the order of selection, puts the bodies of modules and classes last, unless they are hot: unless their lines
     * other than imports have a tenth of the whole time. */
    bool bodies_last;
    char *const *functions; /* shell patterns for qualified names, ended by NULL; NULL: all functions */
    char *const *files;     /* shell patterns for a path, the end of a path or a base name, ended by NULL; NULL: all */
    size_t top; /* keeps only so many functions, the largest by the order's measure; orders without a measure
                 * (selection, name) use time; 0: all */
};

/* Returns the order with this name: "order", "name" or the name of a measure. Returns CLP_CHOICE_ORDERS for any
 * other name. */
enum clp_choice_order clp_choice_order_named(const char *name);

/* Returns the measure by which lines are compared; time for the orders without a measure. */
enum clp_measure clp_choice_measure(enum clp_choice_order order);

/* Did any line of the function run? */
bool clp_choice_was_hit(const struct clp_profile *profile,
                        const struct clp_profile_function *function);

/* Is the profile empty: no line ran, and no memory over time was recorded? */
bool clp_choice_is_idle(const struct clp_profile *profile);

/* The chosen functions, in order. */
struct clp_choice {
    struct clp_mem *mem; /* borrowed */
    size_t *places;      /* indices in profile->functions; owned, freed by clp_choice_clear */
    size_t count, room;
};

/* Chooses functions by the options. `mem` must outlive the choice. CLP_NO_MEMORY leaves *choice empty. */
clp_status clp_choice_make(struct clp_choice *choice, const struct clp_profile *profile,
                           const struct clp_choice_options *options, struct clp_mem *mem);
void clp_choice_clear(struct clp_choice *choice);

/* Removes the functions that are not chosen from the profile and sorts the others. CLP_NO_MEMORY leaves the profile
 * as it was, or with a part of the chosen functions. */
clp_status clp_choice_reduce(struct clp_profile *profile, const struct clp_choice_options *options);

/* A line of a profile. */
struct clp_choice_line {
    size_t function, line; /* indices in profile->functions and in the function's lines */
    double key;            /* the value that lines are sorted by, descending */
};

/* Sets *lines to the `most` largest lines of the chosen functions (fewer where fewer have data), the largest first.
 * Orders by selection and by name choose lines by time, and then list them in the order of their functions.
 * Sets *count to the number of lines in the array, *all to the number of lines with data. The caller owns the array
 * and frees its *count items with clp_mem_free. CLP_NO_MEMORY leaves *lines unset and nothing to free. */
clp_status clp_choice_lines(const struct clp_choice *choice, const struct clp_profile *profile,
                            const struct clp_choice_options *options, size_t most,
                            struct clp_choice_line **lines, size_t *count, size_t *all);

/* Merges the lines of each statement that spans several lines into the statement's first line. starts[i] is the line
 * on which the statement that holds line i of the function's source begins: at most i, lines counted from 1,
 * starts[0] unused. The hits are those of the statement's first line with hits; all other measures are merged. A statement
 * is missed if none of its lines ran. */
void clp_choice_fold(struct clp_profile_function *function, const int32_t *starts, size_t count);

#endif
