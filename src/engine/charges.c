/* SPDX-License-Identifier: MIT */
#include "charges.h"

/* The highest factor. No average is off by more: a probe was seen to take from 7 to 12 ns, 8.5 on average,
 * depending on the lines beside it. */
#define LARGEST_FACTOR 1.5

/* Bounds the work. Every round but the last finds lines that reach their floor at its factor, mostly all at
 * once, so a few rounds do. The factor of any round may be used. */
#define MOST_ROUNDS 32

static double charge_of(const struct clp_charges *charges, const struct clp_cell *cell)
{
    return clp_cell_self_correction(cell, charges->costs->line) / CLP_CORRECTION_ONE;
}

static double floor_of(const struct clp_charges *charges, const struct clp_cell *cell, uint32_t line)
{
    const uint8_t *instructions = charges->function->instructions;
    int known = instructions != NULL ? instructions[line] & CLP_FUNCTION_MOST_INSTRUCTIONS : 0;
    double count = known != 0 ? known : 1;

    return (double)cell->hits * count * (double)charges->costs->instruction / CLP_CORRECTION_ONE;
}

/* Limits the floor to the time that a line can have: its intervals, and for a line that only leaves, its work.
 * `raw` is 0 when the line is shorter than one step of the clock; the floor is then the best estimate. */
static double limited(double floor, double raw, double charge)
{
    double most = charge < 0 ? raw - charge : raw;

    return floor < most || raw == 0 ? floor : most;
}

/* The time of a line, or of all lines, as fixed + raw - factor * charge. */
struct sums {
    double fixed, raw, charge;
};

static struct sums line_of(const struct clp_charges *charges, const struct clp_block *sum,
                           uint32_t line)
{
    const struct clp_cell *cell = &sum->cells[line];
    double raw = (double)cell->self, charge = charge_of(charges, cell);
    double floor = limited(floor_of(charges, cell, line), raw, charge);

    if (charge <= 0)
        return (struct sums){.fixed = raw - charge > floor ? raw - charge : floor};
    if (raw - charges->factor * charge <= floor)
        return (struct sums){.fixed = floor};
    return (struct sums){.raw = raw, .charge = charge};
}

double clp_charges_self(const struct clp_charges *charges, const struct clp_block *sum, uint32_t line)
{
    struct sums sums = line_of(charges, sum, line);

    return sums.fixed + sums.raw - charges->factor * sums.charge;
}

static struct sums all_lines(const struct clp_charges *charges, const struct clp_block *sum)
{
    struct sums sums = {0};

    for (uint32_t i = 0; i < sum->line_count; i++) {
        struct sums line = line_of(charges, sum, i);
        sums.fixed += line.fixed;
        sums.raw += line.raw;
        sums.charge += line.charge;
    }
    return sums;
}

struct clp_charges clp_charges_of(const struct clp_block *sum, const struct clp_costs *costs,
                                  const struct clp_function *function)
{
    struct clp_charges charges = {costs, function, 1};
    double target = 0;

    for (uint32_t i = 0; i < sum->line_count; i++)
        target += (double)sum->cells[i].self - charge_of(&charges, &sum->cells[i]);
    /* Each round raises the factor; lines that reach their floor then pay no more. */
    for (int round = 0; round < MOST_ROUNDS; round++) {
        struct sums sums = all_lines(&charges, sum);
        double factor = sums.charge > 0 ? (sums.raw + sums.fixed - target) / sums.charge : 1;
        if (factor > LARGEST_FACTOR)
            factor = LARGEST_FACTOR;
        if (factor <= charges.factor)
            break;
        charges.factor = factor;
    }
    return charges;
}

double clp_charges_nested(const struct clp_cell *cell)
{
    double nested = (double)cell->nested - (double)cell->nested_correction / CLP_CORRECTION_ONE;

    return nested > 0 ? nested : 0;
}

double clp_charges_overlap(const struct clp_charges *charges, const struct clp_block *sum)
{
    double raw = -(double)sum->total, overlap = (double)sum->total_correction / CLP_CORRECTION_ONE;

    for (uint32_t i = 0; i < sum->line_count; i++) {
        const struct clp_cell *cell = &sum->cells[i];
        raw += (double)cell->self + (double)cell->nested;
        overlap -= charge_of(charges, cell) + (double)cell->nested_correction / CLP_CORRECTION_ONE;
    }
    overlap += raw;
    if (overlap >= 0)
        return overlap;
    /* Executions within others may be charged more than they took. They then count as nothing. */
    return raw >= 0 ? 0 : raw > overlap ? raw : overlap;
}
