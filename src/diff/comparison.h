/* SPDX-License-Identifier: MIT */
/* What compare.h makes of two sides of profiles, for verdict.h to judge and others to show. */
#ifndef CLP_COMPARISON_H
#define CLP_COMPARISON_H

#include "profile/measure.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "diff_side.h"
#include "profile/source.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLP_COMPARE_MOST_MEASURES CLP_MEASURES

enum { CLP_OLD, CLP_NEW };

struct clp_compare_options {
    double time_floor;  /* nanoseconds */
    double hit_floor;   /* nanoseconds by hit, of the side with more hits */
    double bytes_floor;
    /* What decides whether a line has changed, besides hits, which always do. The first of a kind
     * decides whether it is slower or faster, grown or shrunk. */
    enum clp_measure measures[CLP_COMPARE_MOST_MEASURES];
    size_t measure_count;
};

/* Of one line or function: for each side its measures in each profile of the side, NULL where one
 * does not have it; a side is NULL when none has it. */
struct clp_side_samples {
    const struct clp_measures *const *sides[2];
};

struct clp_compared_row {
    bool has[2];         /* is it in the text (or among the lines) of the side? */
    bool edited;
    int64_t line[2];     /* where has */
    struct clp_span text[2];
    struct clp_side_samples samples;
    unsigned verdicts; /* diff/verdict.h */
};

struct clp_compared_function {
    const struct clp_profile_function *sides[2]; /* of the first profile that has it; NULL: none */
    struct clp_compared_row *rows;               /* in the order of the text, gone before new */
    size_t row_count;
    struct clp_side_samples samples; /* all lines merged; the time is the function's total */
    unsigned verdicts;
    bool changed;               /* has it or one of its rows a verdict? */
};

struct clp_comparison {
    struct clp_mem *mem; /* borrowed */
    struct clp_compare_options options;
    size_t file_counts[2];
    bool known[2][CLP_MEASURES];             /* does the side have the measure at all? */
    struct clp_compared_function *functions; /* the new side's in its order, then what is gone */
    size_t function_count;
    size_t lost;     /* lines that only some of a side's texts have, left out */
    uint64_t steps;  /* of aligning, so that a test can see that it is linear */
    struct clp_compared_row *rows; /* of all functions */
    size_t row_count, row_room, function_room;
    struct clp_diff_side sides[2];
};

#endif
