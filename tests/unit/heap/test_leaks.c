/* SPDX-License-Identifier: MIT */
#include "heap/leaks.h"
#include <criterion/criterion.h>
#include <math.h>

#define MIB (1 << 20)

static int64_t live[CLP_LEAKS_MOST_EPOCHS + 1];

/* A line with so many epochs, each of which adds `step` bytes. */
static struct clp_leaks_line steady(size_t epochs, int64_t step)
{
    for (size_t i = 0; i <= epochs; i++)
        live[i] = step * (int64_t)i;
    return (struct clp_leaks_line){.live = live, .epochs = epochs};
}

static bool leaks(const struct clp_leaks_line *line, size_t warmups, int64_t limit,
                  struct clp_leaks_verdict *verdict)
{
    const struct clp_leaks_rule rule = {.warmups = warmups, .limit = limit};

    return clp_leaks_judge(line, &rule, verdict);
}

Test(leaks, steady_growth)
{
    struct clp_leaks_line line = steady(13, 1000);
    struct clp_leaks_verdict verdict;

    cr_assert(leaks(&line, 3, 9999, &verdict));
    cr_expect_eq(verdict.growth, 10000, "the warm-up is left out");
    cr_expect_eq(verdict.margin, 0);
    cr_expect_float_eq(verdict.slope, 1000, 1e-9);
    cr_expect_float_eq(verdict.confidence, 11.0 / 12, 1e-9);
    cr_expect_not(leaks(&line, 3, 10000, &verdict), "growth must be above the limit");
}

Test(leaks, five_epochs_behind_the_warm_up)
{
    struct clp_leaks_line line = steady(8, 1000);
    struct clp_leaks_verdict verdict;

    cr_expect(leaks(&line, 3, 0, &verdict));
    cr_expect_not(leaks(&line, 4, 0, &verdict));
    line.epochs = CLP_LEAKS_MOST_EPOCHS + 1;
    cr_expect_not(leaks(&line, 0, 0, &verdict), "more than there is room for");
}

/* Ten sections of six epochs: the floor rises in all of them, but in some by a fifth of the average or less. */
Test(leaks, a_section_must_rise_by_a_quarter_of_the_average)
{
    struct clp_leaks_line line = steady(60, 0);
    struct clp_leaks_verdict verdict;

    for (int64_t slow = 2; slow <= 3; slow++) {
        for (int64_t i = 0; i < 60; i++)
            live[i + 1] = live[i] + (i / 6 % 3 == 1 && i / 18 < slow ? 120 : 1000);
        cr_expect_eq(leaks(&line, 0, 0, &verdict), slow == 2);
    }
}

Test(leaks, growth_in_four_of_five_epochs)
{
    struct clp_leaks_line line = steady(10, 1000);
    struct clp_leaks_verdict verdict;

    live[3] = live[2];
    live[7] = live[6];
    cr_expect(leaks(&line, 0, 0, &verdict));
    live[9] = live[8];
    cr_expect_not(leaks(&line, 0, 0, &verdict));
}

/* The bytes at the ends of epochs 0 to 40, which `of` tells. */
static struct clp_leaks_line course(int64_t (*of)(int64_t epoch))
{
    for (int64_t i = 0; i <= 40; i++)
        live[i] = of(i);
    return (struct clp_leaks_line){.live = live, .epochs = 40};
}

/* What comes and goes lies on a floor that rises: every other epoch ends with 90,000 bytes of other blocks. */
static int64_t beside_a_temporary(int64_t i)
{
    return 1000 * i + (i % 2) * 90000;
}

static int64_t cleared_now_and_then(int64_t i)
{
    return 1000 * (i % 13);
}

static int64_t cleared_at_last(int64_t i)
{
    return i < 40 ? 1000 * i : 0;
}

/* The floor rises for three quarters of the epochs. */
static int64_t filled(int64_t i)
{
    return 1000 * (i < 30 ? i : 30);
}

/* Ever more slowly: names that are met again and again until all are known. */
static int64_t saturated(int64_t i)
{
    double left = 1e6;

    while (i-- > 0)
        left *= 0.85;
    return (int64_t)(1e6 - left);
}

/* First a cache fills, too. Half as much stays of each epoch that follows. */
static int64_t beside_a_cache(int64_t i)
{
    return 1000 * i + 1000 * (i < 25 ? i : 25);
}

Test(leaks, the_floor_decides)
{
    struct clp_leaks_verdict verdict;
    struct clp_leaks_line line = course(beside_a_temporary);

    cr_assert(leaks(&line, 4, 0, &verdict));
    cr_expect_eq(verdict.growth, 36000);
    cr_expect_lt(verdict.confidence, 0.6, "the floor rises with every other epoch only");
    line = course(beside_a_cache);
    cr_expect(leaks(&line, 4, 0, &verdict));
    line = course(cleared_now_and_then);
    cr_expect_not(leaks(&line, 4, 0, &verdict));
    line = course(cleared_at_last);
    cr_expect_not(leaks(&line, 4, 0, &verdict));
    line = course(filled);
    cr_expect_not(leaks(&line, 4, 0, &verdict));
    line = course(saturated);
    cr_expect_not(leaks(&line, 4, 0, &verdict));
}

/* A standard error of 10,000 bytes: 1.96 of them are the margin. Growth of 20,000 above the limit is two errors. */
Test(leaks, how_sure_it_is)
{
    struct clp_leaks_line line = steady(60, 1000);
    struct clp_leaks_verdict verdict;

    line.error = 10000;
    cr_assert(leaks(&line, 0, 40000, &verdict));
    cr_expect_eq(verdict.margin, 19600);
    cr_expect_float_eq(verdict.confidence, 0.9772, 1e-4, "%g", verdict.confidence);
    line.error = 1000;
    cr_assert(leaks(&line, 0, 0, &verdict));
    cr_expect_float_eq(verdict.confidence, 61.0 / 62, 1e-9);
}

/* 42 samples, and none of them in three of ten sections. Fewer sections all have some. */
Test(leaks, where_samples_are_thin_sections_are_long)
{
    struct clp_leaks_line line = steady(60, 0);
    struct clp_leaks_verdict verdict;

    for (int64_t i = 1; i <= 60; i++)
        live[i] = live[i - 1] + (i <= 6 || (i > 30 && i <= 36) || i > 54 ? 0 : 4096);
    cr_expect_not(leaks(&line, 0, 0, &verdict), "exact bytes do not grow so");
    line.error = 4096 * sqrt(42);
    cr_assert(leaks(&line, 0, 0, &verdict));
    cr_expect_eq(verdict.growth, 42 * 4096);
}

Test(leaks, usual_rules)
{
    cr_expect_eq(clp_leaks_warmups(8), 3);
    cr_expect_eq(clp_leaks_warmups(64), 6);
    cr_expect_eq(clp_leaks_limit(0), MIB);
    cr_expect_eq(clp_leaks_limit((int64_t)1000 * MIB), 10 * MIB);
}

/* ---- things that grow ---- */

static int64_t lost[CLP_LEAKS_MOST_EPOCHS + 1];

/* The room of a thing into which each epoch puts 1000 bytes until it is `full`: when they do not fit any
 * more, it becomes `factor` times as large as it must be. */
static struct clp_leaks_thing thing_filled(size_t epochs, size_t full, double factor)
{
    live[0] = 0;
    for (size_t i = 1; i <= epochs; i++) {
        int64_t content = 1000 * (int64_t)(i < full ? i : full);
        live[i] = content > live[i - 1] ? (int64_t)((double)content * factor) : live[i - 1];
        lost[i] = 0;
    }
    return (struct clp_leaks_thing){.stretched = live, .lost = lost, .epochs = epochs};
}

static bool thing_leaks(const struct clp_leaks_thing *thing, size_t warmups, int64_t limit,
                        struct clp_leaks_verdict *verdict)
{
    const struct clp_leaks_rule rule = {.warmups = warmups, .limit = limit};

    return clp_leaks_judge_thing(thing, &rule, verdict);
}

Test(leaks, a_thing_grows_in_steps_that_become_rarer)
{
    const double factors[] = {1, 1.125, 2};
    struct clp_leaks_verdict verdict;

    for (size_t i = 0; i < 3; i++)
        for (size_t epochs = 8; epochs <= 64; epochs += 4) {
            struct clp_leaks_thing thing = thing_filled(epochs, 1000, factors[i]);
            cr_assert(thing_leaks(&thing, 3, 0, &verdict), "%g, %zu", factors[i], epochs);
            cr_assert_float_eq(verdict.slope, 1000, 300, "%g, %zu", factors[i], epochs);
        }
}

Test(leaks, a_thing_that_is_full_does_not_leak)
{
    const double factors[] = {1, 1.125, 2};
    struct clp_leaks_verdict verdict;

    for (size_t i = 0; i < 3; i++)
        for (size_t full = 1; full <= 31; full++) {
            struct clp_leaks_thing thing = thing_filled(64, full, factors[i]);
            cr_assert_not(thing_leaks(&thing, 6, 0, &verdict), "%g, %zu", factors[i], full);
        }
    struct clp_leaks_thing thing = thing_filled(64, 45, 1.125);
    cr_expect_not(thing_leaks(&thing, 6, 0, &verdict), "its last step is long ago");
    thing = thing_filled(64, 6, 2);
    live[64] += 1000000;
    cr_expect_not(thing_leaks(&thing, 6, 0, &verdict), "filled by the warm-up, and once more");
}

Test(leaks, a_thing_that_shrinks_does_not_leak)
{
    struct clp_leaks_thing thing = thing_filled(64, 1000, 1);
    struct clp_leaks_verdict verdict;

    for (size_t i = 20; i <= 64; i++)
        lost[i] = 2000;
    cr_expect(thing_leaks(&thing, 6, 0, &verdict));
    cr_expect_float_eq(verdict.confidence, 59 / 60.0, 1e-9);
    for (size_t i = 20; i <= 64; i++)
        lost[i] = 4000;
    cr_expect_not(thing_leaks(&thing, 6, 0, &verdict), "54 of 58 are below 95 %%");
    for (size_t i = 0; i <= 64; i++)
        lost[i] = 4000;
    cr_expect(thing_leaks(&thing, 6, 0, &verdict), "that was before or in the warm-up");
    thing = thing_filled(64, 1000, 2);
    lost[64] = 1;
    cr_expect_not(thing_leaks(&thing, 6, 0, &verdict), "few steps, and not all was kept");
    lost[64] = 1000000;
    cr_expect_not(thing_leaks(&thing, 6, 0, &verdict), "more was lost than gained");
}

Test(leaks, a_thing_has_the_limits_of_a_line)
{
    struct clp_leaks_thing thing = thing_filled(13, 1000, 1);
    struct clp_leaks_verdict verdict;

    cr_expect(thing_leaks(&thing, 3, 9999, &verdict));
    cr_expect_eq(verdict.growth, 10000);
    cr_expect_not(thing_leaks(&thing, 3, 10000, &verdict));
    cr_expect_not(thing_leaks(&thing, 9, 0, &verdict), "four epochs");
    cr_expect_not(thing_leaks(&thing, 14, 0, &verdict), "none");
    thing.epochs = CLP_LEAKS_MOST_EPOCHS + 1;
    cr_expect_not(thing_leaks(&thing, 0, 0, &verdict), "more than there is room for");
}
