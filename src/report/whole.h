/* SPDX-License-Identifier: MIT */
/* The whole of a profile, of which lines are shares: sums over the lines of all its functions. */
#ifndef CLP_WHOLE_H
#define CLP_WHOLE_H

#include "profile/profile.h"

/* Bytes below which a change of memory means nothing: a few pages come and go by chance. */
#define CLP_WHOLE_LEAST_MOVED (64 * 1024)

struct clp_whole {
    double self;  /* nanoseconds: the self times of all lines; 0 where the profile has none, as line_profiler's files */
    double time;  /* nanoseconds: `self`; where there is none, the time of the function that took most */
    double moved; /* bytes that lines add and give back: see clp_whole_moved */
    struct clp_measures gc; /* the row of garbage collections: see clp_whole_add_gc */
};

struct clp_whole clp_whole_of(const struct clp_profile *profile, bool raw_times);

/* Adds the garbage collections of a line to the row that shows them: their number as hits, what they took as time. */
void clp_whole_add_gc(struct clp_measures *row, const struct clp_measures *line);

/* Returns the self time of a line, in nanoseconds. */
double clp_whole_self(const struct clp_measures *measures, bool raw_times);

/* Returns the bytes by which a line changes memory, up or down; 0 where the change is too small to mean anything. */
double clp_whole_moved(const struct clp_measures *measures);

/* Returns the time of a function in nanoseconds, of which the lines' percentages are shares: its inclusive time.
 * Where a profile has none, as line_profiler's files, it is the sum of the function's lines. */
uint64_t clp_whole_total(const struct clp_profile *profile, const struct clp_profile_function *function,
                         bool raw_times);

#endif
