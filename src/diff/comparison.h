/* SPDX-License-Identifier: MIT */
/* Defines the result of a comparison: compare.h makes it, verdict.h judges it, diff_text.h and limits.h read it. */
#ifndef CLP_COMPARISON_H
#define CLP_COMPARISON_H

#include "profile/amount.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "diff_side.h"
#include "profile/source.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLP_OLD, CLP_NEW };

struct clp_compare_options {
    double time_floor;  /* nanoseconds */
    double hit_floor;   /* nanoseconds per hit, for the hits of the side with more hits */
    double bytes_floor; /* bytes */
    /* The measures that are compared; hits are always compared. The first measure of time decides whether a line is
     * slower or faster, the first measure of memory whether it has grown or shrunk. */
    struct clp_measure_list measures;
    double confidence; /* 0 to 1: a difference counts if it is real with this confidence; 0: if ranges do not overlap */
    bool renamed; /* do the last unmatched file of each side match, whatever their names? */
    bool limited[CLP_MEASURES]; /* has the measure a limit? With a confidence it is then tested, too */
};

/* The measures of one line or function: sides[side][i] are those in profile i of the side, NULL where this profile
 * does not have the line or function. sides[side] is NULL when no profile of the side has it. Borrowed. */
struct clp_side_samples {
    const struct clp_measures *const *sides[2];
};

struct clp_compared_row {
    bool has[2];         /* is the line in the text (or among the lines) of the side? */
    bool edited;         /* do both sides have the line, with different texts (indentation counts)? */
    int64_t line[2];     /* the line number on each side, where has[side] */
    struct clp_span text[2]; /* borrowed from the profiles; NULL where no text is known */
    struct clp_side_samples samples;
    unsigned verdicts; /* diff/verdict.h */
};

/* Who called a function, from which line: the calls of both sides from the same line. */
struct clp_compared_call {
    const struct clp_compared_function *caller; /* NULL: code that is not selected */
    const struct clp_compared_row *row;         /* of the caller; NULL: it has no row */
    struct clp_side_samples samples;            /* only hits (which are calls), time and growth */
    double weight;                              /* how much the time changed, in nanoseconds */
    bool explains;                              /* does it tell why the function changed? */
};

struct clp_compared_function {
    const struct clp_profile_function *sides[2]; /* borrowed from the side's first profile that has it with a text, */
                                                 /* else from the first that has it; NULL: no profile has it */
    struct clp_compared_row *rows;               /* borrowed; in the order of the text, gone lines before new ones */
    size_t row_count;
    struct clp_side_samples samples; /* all lines merged; the time is the function's total */
    struct clp_compared_call *calls; /* borrowed; who called it, the largest change of time first */
    size_t call_count;
    unsigned verdicts;
    bool changed;               /* has the function or one of its rows a verdict? */
};

/* All calls of a comparison, and what they point to. All is owned. */
struct clp_compared_calls {
    struct clp_compared_call *items; /* those of a function one behind the other */
    struct clp_measures *measures;   /* of each edge of each profile */
    const struct clp_measures **samples;
    size_t count, room, keys;
    bool missing; /* has one side no calls, while the other has some? */
};

struct clp_comparison {
    struct clp_mem *mem; /* borrowed */
    struct clp_compare_options options;
    size_t file_counts[2];
    bool known[2][CLP_MEASURES];             /* does the side have the measure at all? */
    struct clp_compared_function *functions; /* owned; the new side's functions in its order, then those gone */
    size_t function_count;
    size_t lost;     /* lines left out because only some of a side's texts have them */
    double *values[2]; /* with a confidence: owned room for a number of each profile of a side; else NULL */
    double real;       /* with a confidence: a difference is real if its chance is at most this */
    size_t tests;      /* with a confidence: how many numbers were tested */
    uint64_t steps;  /* items that aligning looked at, so that a test can see that it takes linear time */
    struct clp_compared_row *rows; /* owned; the rows of all functions, one function behind the other */
    size_t row_count, row_room, function_room;
    struct clp_compared_calls calls;
    struct clp_diff_side sides[2];
};

#endif
