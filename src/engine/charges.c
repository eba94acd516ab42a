/* SPDX-License-Identifier: MIT */
#include "charges.h"

/* The highest factor. No average is off by more: a probe was seen to take from 7 to 12 ns, 8.5 on average,
 * depending on the lines beside it. */
#define LARGEST_FACTOR 1.5

/* By which share of its charge a line's time is usually wrong, for the same reason. An eighth gave the shares
 * nearest to the truth in the bench's cases of short lines. */
#define USUAL_ERROR 0.125

/* Bounds the work. Every round but the last finds lines that reach their bound at the round's number, mostly
 * all at once, so a few rounds do. The number of any round may be used. */
#define MOST_ROUNDS 32

/* What is known of a line's self time. */
struct bounds {
    double raw, charge, floor;
    double most; /* the time that the line can have: its intervals, and for a line that only leaves, its work */
};

static double charge_of(const struct clp_charges *charges, const struct clp_cell *cell)
{
    return clp_costs_ticks(charges->costs, clp_cell_self_correction(cell, charges->costs->line));
}

static double floor_of(const struct clp_charges *charges, const struct clp_cell *cell, uint32_t line)
{
    const uint8_t *instructions = charges->function->instructions;
    int known = instructions != NULL ? instructions[line] & CLP_FUNCTION_MOST_INSTRUCTIONS : 0;
    double count = known != 0 ? known : 1;

    return clp_costs_ticks(charges->costs, (double)cell->hits * count * (double)charges->costs->instruction);
}

static struct bounds bounds_of(const struct clp_charges *charges, const struct clp_block *sum,
                               uint32_t line)
{
    const struct clp_cell *cell = &sum->cells[line];
    double raw = (double)cell->self, charge = charge_of(charges, cell);
    double floor = floor_of(charges, cell, line), most = charge < 0 ? raw - charge : raw;

    if (raw == 0 && floor > most) /* shorter than one step of the clock: the floor is the best estimate */
        most = floor;
    return (struct bounds){raw, charge, floor < most ? floor : most, most};
}

/* ---- the factor ---- */

/* The time of a line, or of all lines, as fixed + raw - factor * charge. */
struct sums {
    double fixed, raw, charge;
};

static struct sums sums_of(struct bounds line, double factor)
{
    if (line.charge <= 0)
        return (struct sums){.fixed = line.raw - line.charge > line.floor ? line.raw - line.charge
                                                                          : line.floor};
    if (line.raw - factor * line.charge <= line.floor)
        return (struct sums){.fixed = line.floor};
    return (struct sums){.raw = line.raw, .charge = line.charge};
}

static struct sums all_lines(const struct clp_charges *charges, const struct clp_block *sum)
{
    struct sums all = {0};

    for (uint32_t i = 0; i < sum->line_count; i++) {
        struct sums line = sums_of(bounds_of(charges, sum, i), charges->factor);
        all.fixed += line.fixed;
        all.raw += line.raw;
        all.charge += line.charge;
    }
    return all;
}

/* Each round raises the factor; lines that reach their floor then pay no more. */
static void find_factor(struct clp_charges *charges, const struct clp_block *sum, double target)
{
    for (int round = 0; round < MOST_ROUNDS; round++) {
        struct sums all = all_lines(charges, sum);
        double factor = all.charge > 0 ? (all.raw + all.fixed - target) / all.charge : 1;
        if (factor > LARGEST_FACTOR)
            factor = LARGEST_FACTOR;
        if (factor <= charges->factor)
            break;
        charges->factor = factor;
    }
}

/* ---- the scale ---- */

/* The time of a line before it is scaled. What lies above the floor counts the less, the further it is below its
 * usual error. */
static double believed(const struct clp_charges *charges, struct bounds line)
{
    struct sums sums = sums_of(line, charges->factor);
    double above = sums.fixed + sums.raw - charges->factor * sums.charge - line.floor;
    double error = USUAL_ERROR * line.charge;

    if (line.charge <= 0 || charges->costs->instruction == 0)
        return line.floor + above;
    double square = above / error * (above / error), weight = square * square;
    return line.floor + above * weight / (1 + weight);
}

/* Each round raises the scale; lines that reach the most they can have then take no more. */
static void find_scale(struct clp_charges *charges, const struct clp_block *sum, double target)
{
    for (int round = 0; round < MOST_ROUNDS; round++) {
        double full = 0, scaled = 0;
        for (uint32_t i = 0; i < sum->line_count; i++) {
            struct bounds line = bounds_of(charges, sum, i);
            double time = believed(charges, line);
            if (time * charges->scale >= line.most)
                full += line.most;
            else
                scaled += time;
        }
        double scale = scaled > 0 ? (target - full) / scaled : 1;
        if (scale <= charges->scale)
            break;
        charges->scale = scale;
    }
}

struct clp_charges clp_charges_of(const struct clp_block *sum, const struct clp_costs *costs,
                                  const struct clp_function *function)
{
    struct clp_charges charges = {costs, function, 1, 1};
    double target = 0;

    for (uint32_t i = 0; i < sum->line_count; i++)
        target += (double)sum->cells[i].self - charge_of(&charges, &sum->cells[i]);
    find_factor(&charges, sum, target);
    find_scale(&charges, sum, target);
    return charges;
}

double clp_charges_self(const struct clp_charges *charges, const struct clp_block *sum, uint32_t line)
{
    struct bounds bounds = bounds_of(charges, sum, line);
    double time = believed(charges, bounds) * charges->scale;

    return time < bounds.most ? time : bounds.most;
}

double clp_charges_nested(const struct clp_charges *charges, const struct clp_cell *cell)
{
    double nested = (double)cell->nested - clp_costs_ticks(charges->costs, (double)cell->nested_correction);

    return nested > 0 ? nested : 0;
}

double clp_charges_overlap(const struct clp_charges *charges, const struct clp_block *sum)
{
    double raw = -(double)sum->total, overlap = clp_costs_ticks(charges->costs, (double)sum->total_correction);

    for (uint32_t i = 0; i < sum->line_count; i++) {
        const struct clp_cell *cell = &sum->cells[i];
        raw += (double)cell->self + (double)cell->nested;
        overlap -= charge_of(charges, cell) + clp_costs_ticks(charges->costs, (double)cell->nested_correction);
    }
    overlap += raw;
    if (overlap >= 0)
        return overlap;
    /* Executions within others may be charged more than they took. They then count as nothing. */
    return raw >= 0 ? 0 : raw > overlap ? raw : overlap;
}
