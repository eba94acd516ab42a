/* SPDX-License-Identifier: MIT */
#include "significance.h"
#include <math.h>
#include <stdlib.h>

/* ---- Student's distribution ---- */

#define TERMS_MOST 1000 /* terms of the fraction; a few dozen are enough for any number of runs */
#define HALVINGS 200    /* of an interval of doubles; none can be halved more often in the range that is searched */

/* The coefficient of number `n`, from 1 on, of the continued fraction in NIST's Digital Library of Mathematical
 * Functions, 8.17.22. */
static double coefficient(int n, double x, double a, double b)
{
    double m = n / 2;

    if (n % 2 == 0)
        return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
}

/* The continued fraction 1/(1 + d1/(1 + d2/(1 + ..))), from its front to where further terms change nothing. The
 * numerator and denominator of each part are kept as ratios to those before (Lentz's method). */
static double fraction(double x, double a, double b)
{
    const double tiny = 1e-300; /* stands for a ratio of 0 */
    double upper = 1, lower = 0, value = 1;

    for (int n = 1; n < TERMS_MOST; n++) {
        double d = coefficient(n, x, a, b);
        lower = 1 + d * lower;
        lower = 1 / (lower != 0 ? lower : tiny);
        upper = 1 + d / upper;
        upper = upper != 0 ? upper : tiny;
        value *= upper * lower;
        if (fabs(upper * lower - 1) < 1e-15)
            break;
    }
    return 1 / value;
}

/* The regularised incomplete beta function, for 0 < x < 1. The fraction converges quickly on one side only. */
static double incomplete_beta(double x, double a, double b)
{
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));

    if (x < (a + 1) / (a + b + 2))
        return front * fraction(x, a, b) / a;
    return 1 - front * fraction(1 - x, b, a) / b;
}

double clp_students_chance(double t, double freedom)
{
    double x = freedom / (freedom + t * t);

    if (!(x > 0))
        return 0;
    return x < 1 ? incomplete_beta(x, freedom / 2, 0.5) : 1;
}

/* The t above 0 that has this chance. */
static double students_t(double chance, double freedom)
{
    double low = 0, high = 1;

    while (clp_students_chance(high, freedom) > chance && high < 1e150)
        high *= 2;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = low + (high - low) / 2;
        if (clp_students_chance(middle, freedom) > chance)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* ---- two sides ---- */

static int compare_numbers(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

struct side {
    double mean;
    double square;  /* of the standard error of the mean */
    double freedom;
};

static double clamped(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* The mean of sorted values without `left_out` at each end. For its error those count as the nearest ones that are
 * not left out. */
static struct side side_of(const double *values, size_t count, size_t left_out)
{
    double low = values[left_out], high = values[count - 1 - left_out];
    double kept = (double)(count - 2 * left_out), sum = 0, all = 0, squares = 0;

    for (size_t i = 0; i < count; i++) {
        sum += i >= left_out && i < count - left_out ? values[i] : 0;
        all += clamped(values[i], low, high) / (double)count;
    }
    for (size_t i = 0; i < count; i++)
        squares += pow(clamped(values[i], low, high) - all, 2);
    return (struct side){low == high ? low : sum / kept, low == high ? 0 : squares / (kept * (kept - 1)), kept - 1};
}

static struct clp_difference difference_of(const struct side *before, const struct side *after)
{
    double square = before->square + after->square;
    struct clp_difference difference = {.before = before->mean, .after = after->mean, .error = sqrt(square)};

    if (square == 0) { /* all runs of a side agree */
        difference.freedom = before->freedom + after->freedom;
        difference.chance = before->mean == after->mean ? 1 : 0;
        return difference;
    }
    difference.freedom = square * square / (before->square * before->square / before->freedom +
                                            after->square * after->square / after->freedom);
    difference.chance = clp_students_chance((after->mean - before->mean) / difference.error, difference.freedom);
    return difference;
}

struct clp_difference clp_difference_of(double *before, size_t before_count, double *after, size_t after_count)
{
    qsort(before, before_count, sizeof *before, compare_numbers);
    qsort(after, after_count, sizeof *after, compare_numbers);
    struct side old_side = side_of(before, before_count, before_count / 10);
    struct side new_side = side_of(after, after_count, after_count / 10);
    if (old_side.square == 0 && new_side.square == 0) { /* numbers that come in steps: their spread is at the ends */
        old_side = side_of(before, before_count, 0);
        new_side = side_of(after, after_count, 0);
    }
    return difference_of(&old_side, &new_side);
}

double clp_difference_margin(const struct clp_difference *difference, double confidence)
{
    return difference->error == 0 ? 0 : students_t(1 - confidence, difference->freedom) * difference->error;
}

double clp_holms_limit(double *chances, size_t count, double risk)
{
    double limit = -1;

    if (count > 1)
        qsort(chances, count, sizeof *chances, compare_numbers);
    for (size_t i = 0; i < count && chances[i] <= risk / (double)(count - i); i++)
        limit = chances[i];
    return limit;
}
