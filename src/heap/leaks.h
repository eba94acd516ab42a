/* SPDX-License-Identifier: MIT */
/* Does a line leak? A pure function of how many bytes of the line were alive at the end of each
 * epoch, and of how many of its blocks that had become old were still alive at the end.
 *
 * A line leaks when, the warm-up epochs left out,
 *   - there are at least five epochs, and its live bytes grew in 80 % of them;
 *   - the slope is positive: the median of the slopes between any two epochs (Theil 1950, Sen 1968), which a
 *     single large step does not move;
 *   - what gets old stays: of n blocks that became older than three epochs s are alive, and
 *     (s + 1) / (n + 2) is at least 95 % (Laplace's rule: the chance that the next one stays, too);
 *     fewer than 18 blocks cannot reach 95 %, so all of them must be alive;
 *   - the growth as a whole is above a limit.
 * A bounded cache fails the first criterion; a container that is cleared now and then fails the third.
 *
 * A list, dict or str that grows has no old blocks: each time it outgrows its block it gets a larger one. So the
 * bytes that such things gain and lose are judged separately (clp_leaks_judge_thing), by the same four criteria.
 * A thing takes room in advance, so it grows in steps, which become rarer as it gets larger:
 *
 *   room      ________       The room is always known. The content is known only at a step: the old room was
 *       __.--'               full then. Between two steps the content is taken to grow evenly. After the last
 *     _-   content           step it is taken to grow as before, until the room is full.
 *
 * In the third criterion the bytes gained and lost stand for the old blocks that are alive and dead. There are
 * two more criteria. The last step must lie in the second half of the epochs: a thing without a step since then
 * has stopped growing. And if the warm-up is a fifth of the epochs or less, there must be two steps after it:
 * a thing that grows evenly and doubles its room at each step has two.
 *
 * Live bytes may be an estimate from samples. An epoch without a sample says nothing. So every two epochs are
 * joined to one until each has eight samples, or until joining would leave too few epochs. */
#ifndef CLP_LEAKS_H
#define CLP_LEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLP_LEAKS_LEAST_EPOCHS 5
#define CLP_LEAKS_OLD_EPOCHS 3
#define CLP_LEAKS_MOST_EPOCHS 64

/* Blocks are those in the table; a weight says how many blocks one of them stands for. */
struct clp_leaks_line {
    const int64_t *live; /* bytes at the start and at the end of each epoch */
    size_t epochs;       /* live has one more; at most CLP_LEAKS_MOST_EPOCHS */
    int64_t sample;      /* bytes that a sample stands for; 1: all is exact */
    uint64_t old_alive, old_dead; /* weights of blocks older than three epochs, now or when gone */
    uint64_t old_blocks;          /* how many of them were in the table */
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

/* How many epochs a verdict needs, with the usual warm-up of `epochs` epochs. */
size_t clp_leaks_needed(size_t epochs);

/* The larger of 1 MiB and 1 % of the peak. */
int64_t clp_leaks_limit(int64_t peak_bytes);

/* Does the line, or the thing, leak? *verdict is written only then. */
bool clp_leaks_judge(const struct clp_leaks_line *line, const struct clp_leaks_rule *rule,
                     struct clp_leaks_verdict *verdict);
bool clp_leaks_judge_thing(const struct clp_leaks_thing *thing, const struct clp_leaks_rule *rule,
                           struct clp_leaks_verdict *verdict);

#endif
