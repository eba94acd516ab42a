/* SPDX-License-Identifier: MIT */
/* Does a line leak? A pure function of how many bytes of the line were alive at the end of each
 * epoch, and of how many of its blocks that had become old were still alive at the end.
 *
 * A line leaks when, the warm-up epochs left out,
 *   - there are at least five epochs, and its live bytes grew in 80 % of them;
 *   - the slope is positive: the median of the slopes between any two epochs (Theil 1950, Sen
 * 1968),
 *     which a single large step does not move;
 *   - what gets old stays: of n blocks that became older than three epochs s are alive, and
 *     (s + 1) / (n + 2) is at least 95 % (Laplace's rule: the chance that the next one stays, too);
 *     below 18 blocks that cannot be reached, and all of them must be alive;
 *   - the growth as a whole is above a limit.
 * A cache that is bounded fails the first, what is cleared now and then the third.
 *
 * A list, dict or str that grows has no old blocks: each time it outgrows its block it gets a larger one.
 * So what such things gain and lose is judged by itself (clp_leaks_judge_thing), by the same four
 * criteria. Its steps become rarer as it gets larger, for it takes room in advance:
 *
 *   room      ________       the room is known all the time, what is in it only when a step comes: then
 *       __.--'               the old room was full. In between the content is taken to grow evenly, and
 *     _-   content           after the last step as it did before, until the room is full.
 *
 * In the third criterion the bytes gained and lost stand for the old blocks that are alive and dead. The
 * last step must lie in the second half of the epochs: what got no larger since then has stopped growing.
 * And there must be two steps behind the warm-up where this is a fifth of the epochs or less: what
 * doubles its room each time and grows evenly has two.
 *
 * Live bytes may be an estimate from samples. Where there are few of them to an epoch, epochs
 * without any say nothing; so two epochs are joined to one until there are eight samples to each,
 * or only just enough epochs. */
#ifndef CLP_LEAKS_H
#define CLP_LEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLP_LEAKS_LEAST_EPOCHS 5
#define CLP_LEAKS_OLD_EPOCHS 3
#define CLP_LEAKS_MOST_EPOCHS 64

/* Blocks are those that were watched; weights say for how many each of them stands. */
struct clp_leaks_line {
    const int64_t *live; /* bytes at the start and at the end of each epoch */
    size_t epochs;       /* live has one more; at most CLP_LEAKS_MOST_EPOCHS */
    int64_t sample;      /* bytes that a sample stands for; 1: all is exact */
    uint64_t old_alive, old_dead; /* weights of blocks older than three epochs, now or when gone */
    uint64_t old_blocks;          /* how many of them were watched */
};

/* Things of a line that grow, all together: sums at the start and at the end of each epoch. */
struct clp_leaks_thing {
    const int64_t *stretched; /* bytes that they gained */
    const int64_t *lost;      /* bytes that they gave back, or had when they were freed */
    size_t epochs;            /* at most CLP_LEAKS_MOST_EPOCHS */
};

struct clp_leaks_rule {
    size_t warmups; /* epochs left out */
    int64_t limit;  /* bytes; growth must be above */
};

struct clp_leaks_verdict {
    int64_t growth;     /* bytes, warm-up left out */
    double slope;       /* bytes per epoch */
    double confidence;  /* (s + 1) / (n + 2) */
};

/* The usual warm-up of so many epochs: a tenth, at least three. */
size_t clp_leaks_warmups(size_t epochs);

/* How many there must be for a verdict, with the usual warm-up of so many. */
size_t clp_leaks_needed(size_t epochs);

/* The larger of 1 MiB and 1 % of the peak. */
int64_t clp_leaks_limit(int64_t peak_bytes);

/* Does the line, or the thing, leak? *verdict is written only then. */
bool clp_leaks_judge(const struct clp_leaks_line *line, const struct clp_leaks_rule *rule,
                     struct clp_leaks_verdict *verdict);
bool clp_leaks_judge_thing(const struct clp_leaks_thing *thing, const struct clp_leaks_rule *rule,
                           struct clp_leaks_verdict *verdict);

#endif
