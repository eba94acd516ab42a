/* SPDX-License-Identifier: MIT */
/* Tells differences that are real from those that come by chance, when each side of a comparison was run several times.
 *
 * A number is tested with Welch's t test, which allows the two sides to spread differently (B. L. Welch, "The
 * generalization of Student's problem when several different population variances are involved", Biometrika 34, 1947).
 * With ten runs or more a tenth of them is left out at each end, so that a single interrupted run does not hide a
 * difference (K. K. Yuen, "The two-sample trimmed t for unequal population variances", Biometrika 61, 1974). Programs
 * often run in one of two speeds. If more were left out, two sides that have them by chance in different shares would
 * count as different.
 *
 * Many numbers are tested at once, and each may be wrong. Holm's correction keeps the chance that any of them is wrong
 * below the risk, whatever they have to do with each other (S. Holm, "A simple sequentially rejective multiple test
 * procedure", Scandinavian Journal of Statistics 6, 1979). */
#ifndef CLP_SIGNIFICANCE_H
#define CLP_SIGNIFICANCE_H

#include <stddef.h>

#define CLP_SIGNIFICANCE_RUNS 3 /* the fewest runs of a side that can be tested */

/* How the values of one measure on two sides differ. */
struct clp_difference {
    double before, after; /* averages, without the values that are left out */
    double error;         /* standard error of after - before */
    double freedom;       /* degrees of freedom of the error */
    double chance;        /* of a difference at least this large if there is none (the p-value); 0 to 1 */
};

/* Tests the values of two sides, and sorts both arrays. Each has CLP_SIGNIFICANCE_RUNS values or more. */
struct clp_difference clp_difference_of(double *before, size_t before_count, double *after, size_t after_count);

/* Half the width of the interval around after - before that has the true difference with this confidence (0 to 1). */
double clp_difference_margin(const struct clp_difference *difference, double confidence);

/* The chance of a t below -|t| or above |t| in Student's distribution. */
double clp_students_chance(double t, double freedom);

/* Returns the largest of these chances that is real when the chance of any error is at most `risk`; -1 when none is.
 * Sorts the array. */
double clp_holms_limit(double *chances, size_t count, double risk);

#endif
