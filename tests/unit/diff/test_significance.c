/* SPDX-License-Identifier: MIT */
/* Expected values are those of published examples and tables and, where said, of scipy 1.17. */
#include "diff/significance.h"
#include "helpers.h"
#include <math.h>

static void expect(double found, double wanted, double within)
{
    cr_assert(fabs(found - wanted) <= within, "%.12g is not %.12g", found, wanted);
}

/* Any table of Student's distribution has the first four; scipy.stats.t.sf the others. */
Test(significance, students_distribution)
{
    expect(clp_students_chance(0, 5), 1, 0);
    expect(clp_students_chance(1, 1), 0.5, 1e-14);
    expect(clp_students_chance(2.228138852, 10), 0.05, 1e-11);
    expect(clp_students_chance(-12.7062047364, 1), 0.05, 1e-11);
    expect(clp_students_chance(2.5, 3.7), 0.07182202291182678, 1e-14);
    expect(clp_students_chance(30, 9) / 2.4837047041582635e-10, 1, 1e-10);
    expect(clp_students_chance(5, 200.5) / 1.2479493819344862e-06, 1, 1e-10);
    expect(clp_students_chance(0.01, 4), 0.9925001562458985, 1e-13);
    cr_assert_eq(clp_students_chance(INFINITY, 4), 0);
}

/* Two lots of screws, a textbook's example: t = 1.959 with 7.03 degrees of freedom. */
Test(significance, welchs_test)
{
    double lot[] = {30.02, 29.99, 30.11, 29.97, 30.01, 29.99}, other[] = {29.89, 29.93, 29.72, 29.98, 30.02, 29.98};
    struct clp_difference found = clp_difference_of(lot, 6, other, 6);

    expect(found.after - found.before, -0.095, 1e-12);
    expect(found.freedom, 7.030559959884322, 1e-9);
    expect(found.chance, 0.09077332428566112, 1e-12);
    expect(clp_difference_margin(&found, 0.95), 0.11456908964604, 1e-12);
}

/* Fifteen values a side, of which one is left out at each end: scipy.stats.ttest_ind(.., equal_var=False, trim=1/15). */
Test(significance, a_tenth_is_left_out_at_each_end)
{
    double before[] = {27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4};
    double after[] = {27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.5, 25.2};
    struct clp_difference found = clp_difference_of(before, 15, after, 15);

    expect(found.freedom, 23.809281314773372, 1e-9);
    expect(found.chance, 0.004886308342703649, 1e-12);
    expect(found.after - found.before, (5.413663861961215 + 0.278643830346486) / 2, 1e-9);
    expect(clp_difference_margin(&found, 0.99), (5.413663861961215 - 0.278643830346486) / 2, 1e-9);
}

Test(significance, one_interrupted_run_in_ten_hides_nothing)
{
    double before[] = {100, 101, 102, 99, 98, 100, 101, 99, 100, 500}, after[] = {120, 121, 122, 119, 118, 120, 121, 119, 120, 7};

    cr_assert_lt(clp_difference_of(before, 10, after, 10).chance, 1e-9);
    double short_before[] = {100, 101, 99, 100, 500}, short_after[] = {120, 121, 119, 120, 7};
    cr_assert_gt(clp_difference_of(short_before, 5, short_after, 5).chance, 0.1);
}

Test(significance, values_that_all_agree)
{
    double same[] = {7, 7, 7}, again[] = {7, 7, 7, 7}, other[] = {8, 8, 8};
    struct clp_difference found = clp_difference_of(same, 3, again, 4);

    cr_assert(found.chance == 1 && clp_difference_margin(&found, 0.99) == 0);
    found = clp_difference_of(same, 3, other, 3);
    cr_assert(found.chance == 0 && found.after - found.before == 1);
}

/* Where a number comes in two steps, and what is left agrees, the steps at the ends must count. */
Test(significance, numbers_in_steps)
{
    double before[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, after[] = {0, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct clp_difference found = clp_difference_of(before, 10, after, 10);

    expect(found.before, 0.1, 1e-15);
    expect(found.chance, 2.2928871994e-05, 1e-14); /* scipy.stats.ttest_ind(.., equal_var=False) */
}

/* The example of the usual descriptions of Holm's method, and its bounds 0.0125, 0.01667, 0.025, 0.05. */
Test(significance, holms_correction)
{
    double four[] = {0.01, 0.04, 0.03, 0.005};

    cr_assert_eq(clp_holms_limit(four, 4, 0.05), 0.01);
    double none[] = {0.02, 0.02};
    cr_assert_eq(clp_holms_limit(none, 2, 0.01), -1);
    cr_assert_eq(clp_holms_limit(none, 0, 0.01), -1);
    double all[] = {0, 0.01, 0.05};
    cr_assert_eq(clp_holms_limit(all, 3, 0.05), 0.05);
}
