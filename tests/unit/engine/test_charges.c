/* SPDX-License-Identifier: MIT */
/* Programs of lines with known lengths run on a machine whose events cost what real ones do: a part
 * before the reading of the clock and a part behind it, more at one line and less at another. What the
 * profile says is compared with the lines alone.
 *
 *   1  def leaf(v):             20  def main():
 *   2      if v:                21      for v in values:
 *   3          return 1         22..25      short lines
 *   4      return 2             26          leaf(v)
 *                               27          rec(2)
 *   10 def rec(n):
 *   11     if n:
 *   12         rec(n - 1)
 *   13     return n */
#include "engine/charges.h"
#include "helpers.h"
#include "snapshots.h"

enum { LEAF, REC, MAIN, FUNCTIONS, LINES = 30, TICKS = 3 /* a nanosecond */ };

/* What an event costs before its reading and behind it, in nanoseconds, on average. */
static const struct { double before, after; } event_costs[] = {{3, 6}, {4, 9}, {4, 5}, {3, 7}};
enum kind { LINE, ENTER, LEAVE, LAST };

struct machine {
    struct test_mem test;
    struct clp_pages pages;
    struct clp_engine engine;
    struct clp_thread *thread;
    struct clp_profile profile;
    double now;             /* ticks */
    double length[LINES];   /* of each line, nanoseconds */
    double scatter[LINES];  /* events at this line cost so many times the average */
    double spent[LINES];    /* truth: nanoseconds in each line, without callees */
    uint64_t random;
};

static double pick(struct machine *machine, double low, double high)
{
    machine->random = machine->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (high - low) * (double)(machine->random >> 40) / (double)(1 << 24);
}

static void pass(struct machine *machine, double nanos)
{
    machine->now += nanos * TICKS;
}

static void work(struct machine *machine, int line, double nanos)
{
    machine->spent[line] += nanos;
    pass(machine, nanos);
}

static uint64_t reading(struct machine *machine, enum kind kind, int line)
{
    pass(machine, event_costs[kind].before * machine->scatter[line]);
    return (uint64_t)machine->now;
}

static void behind(struct machine *machine, enum kind kind, int line)
{
    pass(machine, event_costs[kind].after * machine->scatter[line]);
}

static void run_line(struct machine *machine, int line)
{
    clp_engine_line(machine->thread, line, reading(machine, LINE, line));
    behind(machine, LINE, line);
    work(machine, line, machine->length[line]);
}

static void enter(struct machine *machine, uint32_t function, int line)
{
    uint64_t now = reading(machine, ENTER, line);

    cr_assert_not_null(clp_engine_enter(machine->thread, function, NULL, now));
    clp_engine_line(machine->thread, line, now);
    behind(machine, ENTER, line);
    work(machine, line, machine->length[line]);
}

/* The return runs behind its event, before the caller goes on. */
static void last(struct machine *machine, int line)
{
    clp_engine_last_line(machine->thread, line, reading(machine, LAST, line));
    behind(machine, LAST, line);
    work(machine, line, machine->length[line]);
}

static void run_leaf(struct machine *machine, bool value)
{
    enter(machine, LEAF, 2);
    last(machine, value ? 3 : 4);
}

static void run_rec(struct machine *machine, int depth)
{
    enter(machine, REC, 11);
    if (depth > 0) {
        run_line(machine, 12);
        run_rec(machine, depth - 1);
        work(machine, 12, 5);
    }
    last(machine, 13);
}

static void run_main(struct machine *machine, int rounds)
{
    enter(machine, MAIN, 21);
    for (int i = 0; i < rounds; i++) {
        for (int line = 22; line <= 25; line++)
            run_line(machine, line);
        run_line(machine, 26);
        run_leaf(machine, i % 2);
        work(machine, 26, 10);
        run_line(machine, 27);
        run_rec(machine, 2);
        work(machine, 27, 10);
        run_line(machine, 21);
    }
    clp_engine_leave(machine->thread, reading(machine, LEAVE, 21));
    behind(machine, LEAVE, 21);
}

static int64_t cost(double nanos)
{
    return (int64_t)(nanos * TICKS * CLP_CORRECTION_ONE);
}

/* What calibration would say: averages, the parts within bodies as differences from a line event. */
static void set_costs(struct machine *machine, double instruction)
{
    const struct clp_costs costs = {
        .line = cost(event_costs[LINE].before + event_costs[LINE].after),
        .enter = {cost(event_costs[ENTER].before),
                  cost(event_costs[ENTER].after - event_costs[LINE].after)},
        .leave = {cost(event_costs[LEAVE].before - event_costs[LINE].before),
                  cost(event_costs[LEAVE].after)},
        .last_line = cost(event_costs[LAST].after),
        .work = cost(2 * instruction),
        .instruction = cost(instruction),
    };

    clp_engine_set_costs(&machine->engine, &costs);
}

static void set_up(struct machine *machine, uint64_t seed, double scatter)
{
    static const struct { const char *name; int32_t first, count; } functions[] = {
        {"leaf", 1, 4}, {"rec", 10, 4}, {"main", 20, 8}};

    *machine = (struct machine){.random = seed, .now = 1000};
    clp_engine_init(&machine->engine, test_mem_init(&machine->test, 0), &machine->pages);
    clp_profile_init(&machine->profile, &machine->test.mem);
    for (int i = 0; i < FUNCTIONS; i++) {
        struct clp_function function = {.file = (char[]){"f.py"},
                                        .name = (char *)(uintptr_t)functions[i].name,
                                        .first_line = functions[i].first,
                                        .lowest_line = functions[i].first,
                                        .line_count = (uint32_t)functions[i].count};
        uint32_t number;
        cr_assert_eq(clp_functions_add(&machine->engine.functions, &function, &number), CLP_OK);
    }
    for (int line = 0; line < LINES; line++) {
        machine->length[line] = pick(machine, 5, 40);
        machine->scatter[line] = pick(machine, 1 - scatter, 1 + scatter);
    }
    machine->length[3] = machine->length[4] = machine->length[13] = 2.5; /* the returns */
    machine->length[2] = machine->length[11] = pick(machine, 15, 40);    /* .. and the line before */
    set_costs(machine, 1.25);
    machine->thread = clp_engine_new_thread(&machine->engine, (uint64_t)machine->now, 0);
    cr_assert_not_null(machine->thread);
}

static void tear_down(struct machine *machine)
{
    clp_profile_clear(&machine->profile);
    clp_engine_clear(&machine->engine);
    test_mem_check_empty(&machine->test);
}

struct sums {
    uint64_t time, self;
    double truth;
};

static struct sums sums_of(const struct machine *machine, const struct clp_profile_function *function)
{
    struct sums sums = {0};

    for (size_t i = 0; i < function->line_count; i++) {
        const struct clp_profile_line *line = &function->lines[i];
        sums.time += line->measures.time;
        sums.self += line->measures.self;
        sums.truth += machine->spent[line->line];
    }
    return sums;
}

/* What holds of every profile, whatever its events cost. */
static void check_laws(const struct machine *machine, uint64_t seed)
{
    for (size_t i = 0; i < machine->profile.function_count; i++) {
        const struct clp_profile_function *function = &machine->profile.functions[i];
        struct sums sums = sums_of(machine, function);
        cr_assert_geq(function->total, sums.self, "seed %lu, %s", seed, function->name);
        if (i == REC)
            cr_assert_leq(function->total, sums.time, "seed %lu", seed);
        else
            cr_assert_eq(function->total, sums.time, "seed %lu, %s", seed, function->name);
        for (size_t j = 0; j < function->line_count; j++) {
            const struct clp_measures *line = &function->lines[j].measures;
            cr_assert_gt(line->self, 0, "seed %lu, line %d", seed, function->lines[j].line);
            cr_assert_geq(line->time, line->self);
            cr_assert_leq(line->time, function->total, "seed %lu, line %d", seed,
                          function->lines[j].line);
            cr_assert(line->max <= line->time && line->max * line->hits >= line->time);
            if (line->raw_self != 0)
                cr_assert_leq(line->self, line->raw_self, "seed %lu", seed);
        }
    }
}

static void check_shares(const struct machine *machine, uint64_t seed, double points)
{
    for (size_t i = 0; i < machine->profile.function_count; i++) {
        const struct clp_profile_function *function = &machine->profile.functions[i];
        struct sums sums = sums_of(machine, function);
        for (size_t j = 0; j < function->line_count; j++) {
            int32_t line = function->lines[j].line;
            double share = (double)function->lines[j].measures.self / (double)sums.self;
            double truth = machine->spent[line] / sums.truth;
            cr_assert(share - truth < points / 100 && truth - share < points / 100,
                      "seed %lu, line %d: %.1f %%, in truth %.1f %%", seed, line, 100 * share,
                      100 * truth);
        }
    }
}

static void run(struct machine *machine, int rounds)
{
    run_main(machine, rounds);
    cr_assert_eq(test_snapshot_take(&machine->engine, 1.0 / TICKS, &machine->profile), CLP_OK);
}

/* A function of three lines whose events cost 10 ticks and whose instructions take one. */
static struct clp_block *three_lines(const uint64_t hits[3], const uint64_t ticks[3])
{
    struct clp_block *sum = aligned_alloc(64, (clp_block_bytes(3, 0) + 63) / 64 * 64);

    cr_assert_not_null(sum);
    memset(sum, 0, clp_block_bytes(3, 0));
    sum->line_count = 3;
    for (int i = 0; i < 3; i++)
        sum->cells[i] = (struct clp_cell){.hits = hits[i], .self = ticks[i]};
    return sum;
}

static void check_three(struct clp_block *sum, const uint8_t *instructions, const double expected[3],
                        double factor)
{
    const struct clp_costs costs = {.line = 10 * CLP_CORRECTION_ONE, .instruction = CLP_CORRECTION_ONE};
    const struct clp_function function = {.instructions = (uint8_t *)(uintptr_t)instructions};
    struct clp_charges charges = clp_charges_of(sum, &costs, &function);

    cr_expect_float_eq(charges.factor, factor, 1e-9);
    for (uint32_t i = 0; i < 3; i++) {
        double self = clp_charges_self(&charges, sum, i);
        cr_expect_float_eq(self, expected[i], 0.001, "line %u: %f, not %f", i, self, expected[i]);
    }
    free(sum);
}

/* Of the first two lines what the clock saw is all charged. Their `instructions` are their floor, the third
 * pays for it. */
static void check_floors(const uint8_t instructions[3], double second, double third, double factor)
{
    struct clp_block *sum = three_lines((uint64_t[]){100, 100, 100}, (uint64_t[]){1000, 1000, 10000});

    check_three(sum, instructions, (double[]){100, second, third}, factor);
}

Test(charges, a_line_keeps_what_its_instructions_take)
{
    check_floors(NULL, 100, 8800, 1.2);
    check_floors((const uint8_t[]){0, 3, 1}, 300, 8600, 1.4);
    check_floors((const uint8_t[]){1, 9, 1}, 900, 8500, 1.5);
    check_floors((const uint8_t[]){1, 100, 1}, 1000, 8500, 1.5); /* no more than the clock saw */
    check_floors((const uint8_t[]){CLP_FUNCTION_ADAPTS | 1, CLP_FUNCTION_ADAPTS | 3, 1}, 300, 8600, 1.4);
}

/* 125 ticks above the floor are the usual error of a charge of 1000 ticks: half of them are believed, and 16/17
 * of twice as many. The scale is 10575 / 10497.79. */
Test(charges, a_time_below_its_usual_error_shrinks)
{
    struct clp_block *sum = three_lines((uint64_t[]){100, 100, 100}, (uint64_t[]){1225, 1350, 11000});

    check_three(sum, NULL, (double[]){163.6951, 337.7599, 10073.5450}, 1);
}

/* The third line ran once: it takes 10 of the 77 ticks that the others lost, and the scale is 565 / 497.79. */
Test(charges, no_line_gets_more_than_its_intervals)
{
    struct clp_block *sum = three_lines((uint64_t[]){100, 100, 1}, (uint64_t[]){1225, 1350, 1000});

    check_three(sum, NULL, (double[]){184.4386, 380.5614, 1000}, 1);
}

static void check_runs(uint64_t seeds, double scatter, int rounds, double points)
{
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct machine machine;
        set_up(&machine, seed, scatter);
        run(&machine, rounds);
        check_laws(&machine, seed);
        check_shares(&machine, seed, points);
        tear_down(&machine);
    }
}

/* Rounding aside, what the clock saw less what events cost is the lines alone. */
Test(charges, known_costs_leave_known_lines)
{
    check_runs(50, 0, 2000, 0.3);
}

Test(charges, shares_hold_where_events_cost_a_seventh_more_or_less)
{
    check_runs(200, 1.0 / 7, 500, 3);
}

/* As under an emulator: lines are lost in what events cost, the table is whole. */
Test(charges, no_table_is_broken_by_costs_that_are_far_off)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct machine machine;
        set_up(&machine, seed, 0.9);
        for (int line = 0; line < LINES; line++)
            machine.scatter[line] *= pick(&machine, 0.2, 4);
        run(&machine, 300);
        check_laws(&machine, seed);
        tear_down(&machine);
    }
}

/* A function that calls itself is nearly all events. What its inner executions are charged says then how
 * much of its lines' times is counted twice. */
Test(charges, a_short_function_that_calls_itself_is_as_long_as_its_lines)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct machine machine;
        set_up(&machine, seed, 0.9);
        machine.length[11] = machine.length[12] = 2.5;
        enter(&machine, MAIN, 27);
        for (int i = 0; i < 300; i++)
            run_rec(&machine, seed % 2 ? 1 : 30);
        clp_engine_leave(machine.thread, reading(&machine, LEAVE, 27));
        behind(&machine, LEAVE, 27);
        cr_assert_eq(test_snapshot_take(&machine.engine, 1.0 / TICKS, &machine.profile), CLP_OK);
        check_laws(&machine, seed);
        tear_down(&machine);
    }
}
