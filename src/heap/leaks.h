/* SPDX-License-Identifier: MIT */
/* Does a line leak? A pure function of how many bytes of the line were alive at the end of each epoch.
 *
 *   live     /\  /\ /|       What counts is the floor: the level below which the line's memory never falls again.
 *           /  \/  V         What comes and goes does not raise it, and neither does what replaces something else.
 *   floor  /___/___/         How long a block lives makes no difference: a queue that is filled faster than it is
 *         /                  emptied raises the floor, although each of its blocks is freed.
 *
 * A line leaks when, the warm-up epochs left out,
 *   - there are at least five epochs, and in 80 % of their sections the floor rises by a quarter of its average rise, or
 *     more;
 *   - it goes on: in the last third of the epochs the floor rises by a third of its average rise, or more;
 *   - the growth as a whole is above a limit.
 * A bounded cache that is full meets neither of the first two. A container that is cleared now and then does not meet
 * the first.
 *
 * A list, dict or str that grows takes room in advance. So the bytes that such things gain and lose are judged
 * separately (clp_leaks_judge_thing), by the same criteria. A thing grows in steps, which become rarer as it gets
 * larger:
 *
 *   room      ________       The room is always known. The content is known only at a step: the old room was
 *       __.--'               full then. Between two steps the content is taken to grow evenly. After the last
 *     _-   content           step it is taken to grow as before, until the room is full.
 *
 * Of what it gained, nearly all must be there at the end. The last step must lie in the second half of the epochs: a
 * thing without a step since then has stopped growing. And if the warm-up is a fifth of the epochs or less, there must
 * be two steps after it: a thing that grows evenly and doubles its room at each step has two.
 *
 * The epochs make ten sections of equal length; if there are fewer, each is a section. Live bytes may be an estimate
 * from samples, and a section without a sample says nothing. So there are fewer sections, but not less than five, until
 * each has eight samples. */
#ifndef CLP_LEAKS_H
#define CLP_LEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLP_LEAKS_LEAST_EPOCHS 5
#define CLP_LEAKS_MOST_EPOCHS 64

struct clp_leaks_line {
    const int64_t *live; /* bytes at the start and at the end of each epoch */
    size_t epochs;       /* live has one more; at most CLP_LEAKS_MOST_EPOCHS */
    double error;        /* standard error of the bytes that are alive at the end; 0: all is exact */
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
    int64_t growth;    /* bytes, warm-up left out */
    int64_t margin;    /* bytes: the true growth lies within growth - margin and growth + margin, 95 times of 100 */
    double slope;      /* bytes per epoch: the median of the slopes between any two epochs (Theil 1950, Sen 1968) */
    double confidence; /* the chance that the next epoch would raise the floor, too (Laplace: (s + 1) / (n + 2)), or
                        * that the true growth is above the limit, whichever is less */
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
