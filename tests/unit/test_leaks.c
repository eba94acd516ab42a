/* SPDX-License-Identifier: MIT */
#include "leaks.h"
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

Test(leaks, usual_rules)
{
    cr_expect_eq(clp_leaks_warmups(8), 3);
    cr_expect_eq(clp_leaks_warmups(64), 6);
    cr_expect_eq(clp_leaks_limit(0), MIB);
    cr_expect_eq(clp_leaks_limit((int64_t)1000 * MIB), 10 * MIB);
}
