/* SPDX-License-Identifier: MIT */
#include "heap/leaks.h"
#include <criterion/criterion.h>

#define MIB (1 << 20)

static int64_t live[CLP_LEAKS_MOST_EPOCHS + 1];

/* A line with so many epochs, each of which adds `step` bytes; all that got old is alive. */
static struct clp_leaks_line steady(size_t epochs, int64_t step)
{
    for (size_t i = 0; i <= epochs; i++)
        live[i] = step * (int64_t)i;
    return (struct clp_leaks_line){
        .live = live, .epochs = epochs, .old_alive = 100, .old_blocks = 100};
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
    cr_expect_float_eq(verdict.slope, 1000, 1e-9);
    cr_expect_float_eq(verdict.confidence, 101.0 / 102, 1e-9);
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

/* It grows in eight of ten epochs, and as a whole, and yet falls between most of them. */
Test(leaks, slope_must_be_positive)
{
    static const int64_t steps[] = {10, 10, 10, -200, 10, 10, -200, 10, 10, 500};
    struct clp_leaks_line line = steady(10, 10);
    struct clp_leaks_verdict verdict;

    cr_expect(leaks(&line, 0, 0, &verdict));
    for (size_t i = 0; i < 10; i++)
        live[i + 1] = live[i] + steps[i];
    cr_expect_gt(live[10], 0);
    cr_expect_not(leaks(&line, 0, 0, &verdict));
}

Test(leaks, what_gets_old_stays)
{
    struct clp_leaks_line line = steady(10, 1000);
    struct clp_leaks_verdict verdict;

    line.old_alive = 97;
    line.old_dead = 3;
    cr_expect(leaks(&line, 0, 0, &verdict));
    cr_expect_float_eq(verdict.confidence, 98.0 / 102, 1e-9);
    line.old_alive = 95;
    line.old_dead = 5;
    cr_expect_not(leaks(&line, 0, 0, &verdict), "96 of 102 are below 95 %%");
}

Test(leaks, few_blocks_must_all_be_alive)
{
    struct clp_leaks_line line = steady(10, 1000);
    struct clp_leaks_verdict verdict;

    line.old_blocks = 1;
    cr_expect(leaks(&line, 0, 0, &verdict));
    cr_expect_float_eq(verdict.confidence, 2.0 / 3, 1e-9);
    line.old_blocks = 17;
    line.old_dead = 1;
    cr_expect_not(leaks(&line, 0, 0, &verdict));
    line = steady(10, 1000);
    line.old_blocks = line.old_alive = 0;
    cr_expect_not(leaks(&line, 0, 0, &verdict), "nothing got old");
}

/* A sample in every third epoch: joined, there is one in each. */
Test(leaks, thin_samples_are_joined)
{
    struct clp_leaks_line line = steady(60, 1);
    struct clp_leaks_verdict verdict;

    for (int64_t i = 0; i <= 60; i++)
        live[i] = i / 3 * 4096;
    cr_expect_not(leaks(&line, 6, 0, &verdict), "exact bytes do not grow so");
    line.sample = 4096;
    cr_assert(leaks(&line, 6, 0, &verdict));
    cr_expect_float_eq(verdict.slope, 4096 / 3.0, 100);
    cr_expect_float_eq((double)verdict.growth, 54 / 3 * 4096, 3 * 4096);
    line = steady(8, 1000);
    line.sample = 100000;
    cr_expect(leaks(&line, 3, 0, &verdict), "too few to be joined");
}

/* Where their number is odd, one of them is left out; those that are joined are two for all that. */
Test(leaks, joined_epochs_have_the_slope_of_two)
{
    for (size_t epochs = 16; epochs <= CLP_LEAKS_MOST_EPOCHS; epochs++) {
        struct clp_leaks_line line = steady(epochs, 65536);
        struct clp_leaks_verdict verdict;
        line.sample = 65536;
        cr_assert(leaks(&line, 5, 0, &verdict), "%zu", epochs);
        cr_assert_float_eq(verdict.slope, 65536, 1e-6, "%zu: %g", epochs, verdict.slope);
    }
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
static struct clp_leaks_thing filled(size_t epochs, size_t full, double factor)
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
            struct clp_leaks_thing thing = filled(epochs, 1000, factors[i]);
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
            struct clp_leaks_thing thing = filled(64, full, factors[i]);
            cr_assert_not(thing_leaks(&thing, 6, 0, &verdict), "%g, %zu", factors[i], full);
        }
    struct clp_leaks_thing thing = filled(64, 45, 1.125);
    cr_expect_not(thing_leaks(&thing, 6, 0, &verdict), "its last step is long ago");
    thing = filled(64, 6, 2);
    live[64] += 1000000;
    cr_expect_not(thing_leaks(&thing, 6, 0, &verdict), "filled by the warm-up, and once more");
}

Test(leaks, a_thing_that_shrinks_does_not_leak)
{
    struct clp_leaks_thing thing = filled(64, 1000, 1);
    struct clp_leaks_verdict verdict;

    for (size_t i = 20; i <= 64; i++)
        lost[i] = 2000;
    cr_expect(thing_leaks(&thing, 6, 0, &verdict));
    cr_expect_float_eq(verdict.confidence, (58 * 56 / 58.0 + 1) / 60, 1e-9);
    for (size_t i = 20; i <= 64; i++)
        lost[i] = 4000;
    cr_expect_not(thing_leaks(&thing, 6, 0, &verdict), "54 of 58 are below 95 %%");
    for (size_t i = 0; i <= 64; i++)
        lost[i] = 4000;
    cr_expect(thing_leaks(&thing, 6, 0, &verdict), "that was before or in the warm-up");
    thing = filled(64, 1000, 2);
    lost[64] = 1;
    cr_expect_not(thing_leaks(&thing, 6, 0, &verdict), "few steps, and not all was kept");
    lost[64] = 1000000;
    cr_expect_not(thing_leaks(&thing, 6, 0, &verdict), "more was lost than gained");
}

Test(leaks, a_thing_has_the_limits_of_a_line)
{
    struct clp_leaks_thing thing = filled(13, 1000, 1);
    struct clp_leaks_verdict verdict;

    cr_expect(thing_leaks(&thing, 3, 9999, &verdict));
    cr_expect_eq(verdict.growth, 10000);
    cr_expect_not(thing_leaks(&thing, 3, 10000, &verdict));
    cr_expect_not(thing_leaks(&thing, 9, 0, &verdict), "four epochs");
    cr_expect_not(thing_leaks(&thing, 14, 0, &verdict), "none");
    thing.epochs = CLP_LEAKS_MOST_EPOCHS + 1;
    cr_expect_not(thing_leaks(&thing, 0, 0, &verdict), "more than there is room for");
}
