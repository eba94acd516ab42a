/* SPDX-License-Identifier: MIT */
/* Programs whose truth is known run on a clock of their own, through the same calls as the events of probes. */
#include "engine/engine.h"
#include "engine/event_costs.h"
#include "engine/garbage.h"
#include "engine/light.h"
#include "engine/light_memory.h"
#include "engine/reaping.h"
#include "engine/resident.h"
#include "engine/threads.h"
#include "engine/view.h"
#include "helpers.h"
#include <math.h>
#include <string.h>

#define MICRO 1000 /* ticks of a microsecond: a tick is a nanosecond */
#define MILLI (1000 * MICRO)
#define LINES 8
#define PLACES (LINES + 2)

#define BETWEEN_TICKS (20 * MICRO)

/* A program and its thread. Line n begins at place n in the code; a function is entered and left at the last two. */
struct program {
    struct test_mem test;
    struct clp_pages pages;
    struct clp_engine engine;
    struct clp_thread *thread;
    uint32_t function, callee;
    uint64_t now, random;
    struct clp_light_ticks ticks;
    uint64_t next_tick;
    uint64_t costs[2];           /* ticks of the clock for an event that does not read it, and for one that does, outside its
                                  * readings */
    uint64_t inside;             /* .. and from its first to its last reading */
    uint64_t truth[LINES], hits[LINES]; /* by line: time without what events cost, and how often it began */
    bool always[PLACES];
    int64_t rss, changed[LINES]; /* the size of the process; bytes that lines changed */
    uint64_t reads;
    uint64_t readings, events, slow; /* readings; events; readings after which the event takes the slow way */
};

static uint32_t add(struct program *program, const char *name)
{
    struct clp_function function = {.file = (char[]){"f.py"}, .name = (char *)(uintptr_t)name, .lowest_line = 0,
                                    .line_count = LINES};
    uint32_t number = UINT32_MAX;

    cr_assert_eq(clp_functions_add(&program->engine.functions, &function, &number), CLP_OK);
    return number;
}

/* Makes the engine for a program whose events cost nothing. */
static void begin_engine(struct program *program, int64_t first)
{
    struct clp_mem *mem = test_mem_init(&program->test, 0);

    *program = (struct program){.test = program->test, .now = 12345, .random = 99, .ticks = {12000, 3 * BETWEEN_TICKS / 2},
                                .next_tick = 12345};
    clp_engine_init(&program->engine, mem, &program->pages);
    program->engine.rss_span = UINT64_MAX;
    program->engine.pace_next = UINT64_MAX;
    clp_light_turn_on(&program->engine, &program->ticks, MICRO);
    program->engine.light.first = first;
    program->function = add(program, "f");
    program->callee = add(program, "g");
    for (int i = 0; i < PLACES; i++)
        program->always[i] = true;
}

static void begin_thread(struct program *program)
{
    program->thread = clp_engine_new_thread(&program->engine, program->now, program->rss);
    clp_engine_enter(program->thread, program->function, "a frame", program->now);
}

/* The random numbers of run number `run` of a program. */
static void draw_anew(struct program *program, int run)
{
    program->random = (uint64_t)(run + 1) * 0x9e3779b97f4a7c15u;
}

/* Starts a program without memory. `first` intervals are timed at the start. */
static void begin(struct program *program, int64_t first)
{
    begin_engine(program, first);
    begin_thread(program);
}

/* Starts a program with memory. No line shorter than half a microsecond changes it. */
static void begin_with_memory(struct program *program, int64_t first)
{
    begin_engine(program, first);
    program->rss = 100 << 20;
    program->engine.parts |= CLP_PART_MEMORY;
    program->engine.rss_span = MICRO / 2;
    program->engine.costs.line = 10 * CLP_CORRECTION_ONE; /* what events are charged tells how many there were */
    begin_thread(program);
}

static uint64_t random_below(struct program *program, uint64_t end)
{
    program->random = program->random * 6364136223846793005u + 1442695040888963407u;
    return (program->random >> 33) % end;
}

/* Sets what events cost, and in the calibration did. 1,000 intervals are timed at the start. */
static void set_costs(struct program *program, uint64_t still, uint64_t reading)
{
    const struct clp_costs costs[2] = {{.line = (int64_t)still * CLP_CORRECTION_ONE},
                                       {.line = (int64_t)reading * CLP_CORRECTION_ONE}};

    program->costs[0] = still;
    program->costs[1] = reading;
    clp_engine_set_reading_costs(&program->engine, &costs[1], &costs[0]);
    clp_engine_set_costs(&program->engine, &costs[0]);
    program->thread->light.first = 1000;
}

static void pass(struct program *program, uint64_t ticks)
{
    for (program->now += ticks; program->next_tick <= program->now;) {
        program->ticks.last = program->next_tick;
        program->next_tick += BETWEEN_TICKS / 2 + random_below(program, BETWEEN_TICKS);
    }
}

static bool skips(struct program *program, int place)
{
    bool skipped = clp_light_skips(program->thread, program->always[place]);

    program->events++;
    program->readings += !skipped;
    if (!skipped) {
        clp_light_read(program->thread, program->always[place], program->now);
        if (program->thread->light.long_enough && clp_engine_wants_rss(program->thread, program->now)) {
            clp_engine_note_rss(program->thread, program->rss);
            program->reads++;
        }
        program->slow += program->thread->light.long_enough;
    }
    return skipped;
}

static void done(struct program *program, int place, bool skipped, enum clp_light_kind kind)
{
    if (!skipped) {
        program->always[place] = clp_light_go_on(program->thread, kind);
        pass(program, program->inside);
        clp_light_end_event(program->thread, program->now);
    }
    pass(program, program->costs[!skipped]);
}

/* The moment that the event gives to the engine. */
static uint64_t moment(const struct program *program, bool skipped)
{
    return skipped ? program->thread->light.read : program->now;
}

static void begin_line(struct program *program, int place, int number)
{
    bool skipped = skips(program, place);

    clp_engine_line(program->thread, number, moment(program, skipped));
    done(program, place, skipped, CLP_LIGHT_LINE);
}

/* A line begins, and lasts so long. */
static void line(struct program *program, int number, uint64_t ticks)
{
    begin_line(program, number, number);
    pass(program, ticks);
    program->truth[number] += ticks;
    program->hits[number]++;
}

/* A line of about so many ticks. */
static void about(struct program *program, int number, uint64_t ticks)
{
    line(program, number, ticks - ticks / 4 + random_below(program, ticks / 2 + 1));
}

/* The body is left, so that all its lines are complete. */
static void end_body(struct program *program)
{
    if (program->engine.rss_span != UINT64_MAX) {
        clp_light_read(program->thread, true, program->now);
        clp_engine_note_rss(program->thread, program->rss);
    }
    clp_engine_leave(program->thread, program->now);
}

/* A line begins with an event of another tracer, which takes no part: what follows it is timed at each visit. */
static void line_apart(struct program *program, int number, uint64_t ticks)
{
    struct clp_thread *thread = program->thread;

    clp_light_time_rest(thread, program->now);
    clp_engine_line(thread, number, program->now);
    pass(program, program->inside);
    clp_light_end_event(thread, program->now);
    pass(program, program->costs[0] + ticks);
    program->truth[number] += ticks;
    program->hits[number]++;
}

/* A body of three short lines in a loop. */
static void run_short_lines(struct program *program)
{
    for (int i = 0; i < 1000000; i++) {
        about(program, 0, 20);
        about(program, 1, 60);
        if (i % 3 == 0)
            about(program, 2, 100);
    }
    end_body(program);
}

static double self_of(const struct program *program, int number)
{
    const struct clp_cell *cell = &program->thread->blocks[program->function]->cells[number];

    return (double)cell->self -
           clp_costs_ticks(&program->engine.costs, clp_cell_self_correction(cell, program->engine.costs.line));
}

static double error_of(const struct program *program, int number)
{
    const struct clp_block *block = program->thread->blocks[program->function];

    return clp_light_error(&block->light[number], block->cells[number].hits);
}

static double sum(const struct program *program)
{
    double all = 0;

    for (int i = 0; i < LINES; i++)
        all += self_of(program, i);
    return all;
}

static double true_sum(const struct program *program)
{
    double all = 0;

    for (int i = 0; i < LINES; i++)
        all += (double)program->truth[i];
    return all;
}

/* How many points of share the line that is furthest off is off. */
static double worst_share(const struct program *program)
{
    double worst = 0;

    for (int i = 0; i < LINES; i++) {
        double off = 100 * (self_of(program, i) / sum(program) - (double)program->truth[i] / true_sum(program));
        worst = fabs(off) > worst ? fabs(off) : worst;
    }
    return worst;
}

static double percent_off(double value, double truth)
{
    return 100 * fabs(value / truth - 1);
}

static void end(struct program *program)
{
    clp_engine_unwind(program->thread, program->now);
    for (int i = 0; i < LINES; i++)
        cr_expect_eq(program->thread->blocks[program->function]->cells[i].hits, program->hits[i], "line %d", i);
    clp_engine_clear(&program->engine);
    cr_expect_eq(program->pages.bytes, 0);
    test_mem_check_empty(&program->test);
}

Test(light, the_first_intervals_are_exact)
{
    struct program program;

    begin(&program, 10000);
    for (int i = 0; i < 3000; i++)
        for (int j = 0; j < 3; j++)
            about(&program, j, (uint64_t)(20 + 100 * j));
    end_body(&program);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(self_of(&program, i), (double)program.truth[i]);
    cr_expect_eq(program.readings, program.events);
    end(&program);
}

/* Where the system gives no thread for ticks, nothing is lost. */
Test(light, without_ticks_each_event_reads_the_clock)
{
    struct program program;

    begin(&program, 1000);
    for (int i = 0; i < 5000; i++)
        about(&program, 0, 30);
    program.ticks.last = CLP_LIGHT_NO_TICKS;
    program.next_tick = UINT64_MAX;
    uint64_t readings = program.readings;
    double before = (double)program.truth[1];
    for (int i = 0; i < 5000; i++)
        about(&program, 1, 30);
    end_body(&program);
    cr_expect_eq(program.readings, readings + 5000);
    cr_expect_eq(self_of(&program, 1), (double)program.truth[1] - before);
    cr_expect_lt(percent_off(self_of(&program, 0), (double)program.truth[0]), 20);
    end(&program);
}

/* Shares of ticks vary by chance: by 0.2 points here, where ticks meet the lines 50,000 times. */
Test(light, few_events_read_the_clock_and_shares_are_right)
{
    static const uint64_t lengths[LINES] = {15, 20, 35, 50, 80, 120, 400, 1500};
    struct program program;

    begin(&program, 1000);
    for (int i = 0; i < 500000; i++)
        for (int j = 0; j < LINES; j++)
            about(&program, j, lengths[j]);
    end_body(&program);
    cr_expect_lt(worst_share(&program), 0.8);
    cr_expect_lt(percent_off(sum(&program), true_sum(&program)), 0.1);
    cr_expect_lt((double)program.readings, 0.02 * (double)program.events);
    end(&program);
}

/* On average of many runs the shares are right: what remains is a twentieth of what single runs vary by. */
Test(light, shares_are_right_on_average)
{
    double off[3] = {0};

    for (int i = 0; i < 400; i++) {
        struct program program;
        begin(&program, 100);
        draw_anew(&program, i);
        program.inside = 300;
        for (int j = 0; j < 5000; j++) {
            about(&program, 0, 100);
            about(&program, 1, 200);
            if (j % 4 == 0) /* timed at each visit */
                about(&program, 2, 3000);
        }
        end_body(&program);
        for (int j = 0; j < 3; j++)
            off[j] += 100 * (self_of(&program, j) / sum(&program) - (double)program.truth[j] / true_sum(&program)) / 400;
        end(&program);
    }
    for (int j = 0; j < 3; j++)
        cr_expect_lt(fabs(off[j]), 0.3, "line %d: %f points", j, off[j]);
}

/* Runs short lines, and ends the program. */
static void expect_right_times(struct program *program)
{
    run_short_lines(program);
    cr_expect_lt(worst_share(program), 2);
    cr_expect_lt(percent_off(sum(program), true_sum(program)), 1);
    end(program);
}

Test(light, what_events_cost_is_left_out)
{
    struct program program;

    begin(&program, 0);
    set_costs(&program, 7, 31);
    program.inside = 300;
    expect_right_times(&program);
}

/* In the calibration events took half as long as now. */
Test(light, what_events_cost_follows_the_pace)
{
    struct program program;

    begin(&program, 0);
    set_costs(&program, 7, 31);
    program.costs[0] = 14;
    program.costs[1] = 62;
    program.engine.costs.pace = 2 * CLP_PACE_ONE;
    expect_right_times(&program);
}

/* What readings and charges took is known as with the exact clock. */
Test(light, what_counting_took_is_known)
{
    struct program program;
    struct clp_engine_totals totals;

    begin(&program, 1000);
    set_costs(&program, 7, 7);
    program.inside = 300;
    run_short_lines(&program);
    clp_engine_sum(&program.engine, &totals);
    cr_expect_eq(totals.stopped, program.readings * 300);
    cr_expect_eq(totals.correction, (int64_t)program.events * 7 * CLP_CORRECTION_ONE);
    end(&program);
}

/* Events cost more that read the clock, where lines are timed at each visit. */
Test(light, readings_are_charged_where_they_are)
{
    struct program program;

    begin(&program, 0);
    set_costs(&program, 7, 500);
    program.inside = 300;
    for (int i = 0; i < 100000; i++) {
        about(&program, 0, 100);
        about(&program, 1, 2500);
    }
    end_body(&program);
    cr_expect_lt(percent_off(self_of(&program, 1), (double)program.truth[1]), 0.1);
    cr_expect_lt(percent_off(sum(&program), true_sum(&program)), 1);
    end(&program);
}

/* Half of the events are another tracer's, as where generators begin. */
Test(light, events_that_take_no_part_are_exact)
{
    struct program program;

    begin(&program, 0);
    set_costs(&program, 7, 31);
    program.inside = 300;
    for (int i = 0; i < 1000000; i++) {
        about(&program, 0, 60);
        if (random_below(&program, 2) == 0)
            line_apart(&program, 1, 20);
    }
    end_body(&program);
    cr_expect_lt(percent_off(self_of(&program, 0), (double)program.truth[0]), 3);
    cr_expect_eq(self_of(&program, 1), (double)program.truth[1]);
    end(&program);
}

/* Such events are timed also where they have met a tick, and so read the clock like others (moments.c). */
Test(light, events_that_take_no_part_are_exact_at_ticks)
{
    struct program program;

    begin(&program, 0);
    program.always[1] = false;
    for (int i = 0; i < 1000000; i++) {
        about(&program, 0, 60);
        bool skipped = skips(&program, 1);
        clp_light_time_rest(program.thread, program.now);
        clp_engine_line(program.thread, 1, program.now);
        if (!skipped)
            (void)clp_light_go_on(program.thread, CLP_LIGHT_LINE);
        pass(&program, 20);
        program.truth[1] += 20;
        program.hits[1]++;
    }
    end_body(&program);
    cr_expect_eq(self_of(&program, 1), (double)program.truth[1]);
    end(&program);
}

/* The body has events that nobody counts, because no window is open for its function. */
Test(light, events_that_nobody_counts_do_no_harm)
{
    struct program program;

    begin(&program, 1000);
    for (int i = 0; i < 100000; i++) {
        about(&program, 0, 60);
        for (int j = 0; j < 9; j++) {
            done(&program, 1, skips(&program, 1), CLP_LIGHT_LINE);
            pass(&program, 60);
            program.truth[0] += 60;
        }
    }
    end_body(&program);
    cr_expect_lt(percent_off(sum(&program), true_sum(&program)), 1);
    end(&program);
}

/* The thread ends, and another one begins. */
static void next_thread(struct program *program)
{
    clp_engine_unwind(program->thread, program->now);
    clp_engine_end_thread(program->thread);
    clp_engine_reap(&program->engine);
    memset(program->truth, 0, sizeof program->truth);
    memset(program->hits, 0, sizeof program->hits);
    program->thread = clp_engine_new_thread(&program->engine, program->now, 0);
    clp_engine_enter(program->thread, program->function, "a frame", program->now);
}

/* What a thread had not given to any line when it ended is the program's own time. */
Test(light, what_counting_took_is_known_of_threads_that_ended)
{
    struct program program;
    struct clp_engine_totals totals;

    begin(&program, 1000);
    program.inside = 300;
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 20000 + 7 * i; j++)
            about(&program, 0, 60);
        next_thread(&program);
    }
    clp_engine_sum(&program.engine, &totals);
    cr_expect_eq(totals.stopped, program.readings * 300);
    end(&program);
}

/* Each thread times its own first intervals, and what it counts is kept. */
Test(light, threads_begin_anew)
{
    struct program program;

    begin(&program, 1000);
    for (int i = 0; i < 5; i++) {
        uint64_t readings = program.readings;
        for (int j = 0; j < 999; j++)
            about(&program, 0, 20);
        cr_expect_eq(program.readings, readings + 999);
        end_body(&program);
        cr_expect_eq(self_of(&program, 0), (double)program.truth[0]);
        next_thread(&program);
    }
    end(&program);
}

/* A phase takes about as long as there is between two ticks, and phases repeat in step. */
Test(light, phases_get_their_share)
{
    struct program program;

    begin(&program, 1000);
    for (int i = 0; i < 2000; i++)
        for (int j = 0; j < 400; j++)
            about(&program, i % 4, (uint64_t)(20 << i % 4));
    end_body(&program);
    cr_expect_lt(worst_share(&program), 2);
    cr_expect_lt(percent_off(sum(&program), true_sum(&program)), 1);
    end(&program);
}

/* A line of 100 ns in a loop of a million lasts 50 ms once. */
Test(light, a_long_stay_is_never_lost)
{
    for (int stay = 0; stay < 40; stay++) {
        struct program program;
        begin(&program, 1000);
        for (int i = 0; i < 60000; i++) {
            about(&program, 0, 30);
            about(&program, 1, 50);
            if (i == 20000 + 777 * stay)
                line(&program, 2, 50 * MILLI);
            else
                about(&program, 2, 100);
        }
        end_body(&program);
        double usual = 59999 * 100.0;
        cr_expect_lt(percent_off(self_of(&program, 2) - usual, 50 * MILLI), 2, "%d", stay);
        cr_expect_lt(self_of(&program, 0) + self_of(&program, 1), 6 * MILLI);
        double error = error_of(&program, 2);
        cr_expect_lt(error, MILLI, "the stay is known but for its ends");
        end(&program);
    }
}

/* Stays of some ticks get what is theirs, and lines behind and before them, too. */
Test(light, stays_of_half_a_millisecond_are_right)
{
    struct program program;

    begin(&program, 1000);
    for (int i = 0; i < 2000000; i++) {
        about(&program, 0, 60);
        line(&program, 1, random_below(&program, 10000) == 0 ? MILLI / 2 : 60);
    }
    end_body(&program);
    cr_expect_lt(percent_off(self_of(&program, 0), (double)program.truth[0]), 3);
    cr_expect_lt(percent_off(self_of(&program, 1), (double)program.truth[1]), 2);
    cr_expect_gt(program.thread->blocks[program.function]->cells[1].max, 0);
    end(&program);
}

/* Of lines that usually are long none is left out. */
Test(light, long_lines_are_exact)
{
    struct program program;

    begin(&program, 0);
    for (int i = 0; i < 400000; i++) {
        about(&program, 0, 30);
        about(&program, 1, 50);
        if (i % 500 == 0)
            line(&program, 2, 5 * MICRO + random_below(&program, 200 * MICRO));
    }
    end_body(&program);
    cr_expect_eq(self_of(&program, 2), (double)program.truth[2]);
    cr_expect_lt(percent_off(sum(&program), true_sum(&program)), 1);
    end(&program);
}

/* The error that is told is below 2 standard errors in 19 of 20 cases: here in 93 at least of 100. It is not told too large
 * either, unless the line has most of the time. */
Test(light, the_error_is_told)
{
    int right = 0;
    double told = 0, off = 0;

    for (int i = 0; i < 100; i++) {
        struct program program;
        begin(&program, 100);
        draw_anew(&program, i);
        for (int j = 0; j < 30000; j++) {
            about(&program, 0, 500);
            line(&program, 1, random_below(&program, 10) == 0 ? 1000 : 50);
        }
        end_body(&program);
        double error = error_of(&program, 1);
        double distance = fabs(self_of(&program, 1) - (double)program.truth[1]);
        right += distance <= 2 * error;
        told += error * error;
        off += distance * distance;
        end(&program);
    }
    cr_expect_geq(right, 93, "%d", right);
    cr_expect_lt(told, 2 * off);
    cr_expect_gt(told, off / 2);
}

/* A line that takes less than lies between two ticks is usually met by none. What it may have taken is told. */
Test(light, the_error_of_a_line_that_was_never_met_is_told)
{
    int unmet = 0;

    for (int i = 0; i < 100; i++) {
        struct program program;
        begin(&program, 100);
        draw_anew(&program, i);
        for (int j = 0; j < 30000; j++) {
            about(&program, 0, 500);
            if (j % 300 == 0)
                about(&program, 1, 100);
        }
        end_body(&program);
        if (program.thread->blocks[program.function]->light[1].squares == 0) {
            double lost = (double)program.truth[1] - self_of(&program, 1);
            unmet++;
            cr_expect_geq(2 * error_of(&program, 1), lost);
            cr_expect_leq(error_of(&program, 1), 2 * lost, "nor is it told much too large");
        }
        end(&program);
    }
    cr_expect_gt(unmet, 50, "%d", unmet);
}

/* A body of the function begins, with its first line. */
static void enter(struct program *program, uint32_t function, const char *frame)
{
    bool skipped = skips(program, LINES);

    clp_engine_enter(program->thread, function, frame, moment(program, skipped));
    clp_engine_line(program->thread, 0, moment(program, skipped));
    done(program, LINES, skipped, CLP_LIGHT_ENTER);
}

static void leave(struct program *program)
{
    bool skipped = skips(program, LINES + 1);

    clp_engine_leave(program->thread, moment(program, skipped));
    done(program, LINES + 1, skipped, CLP_LIGHT_LEAVE);
}

static void call(struct program *program, uint64_t ticks)
{
    enter(program, program->callee, "another frame");
    pass(program, ticks);
    leave(program);
}

/* Where each execution was timed, nothing is unknown. A line that calls has more intervals than executions. */
Test(light, a_line_that_was_timed_at_each_visit_has_no_error)
{
    struct program program;

    begin(&program, 100);
    for (int j = 0; j < 30000; j++) {
        about(&program, 0, 500);
        if (j % 300 != 0)
            continue;
        line(&program, 1, 5 * MICRO);
        call(&program, 5 * MICRO);
        pass(&program, 5 * MICRO);
    }
    end_body(&program);
    cr_expect_eq(error_of(&program, 1), 0);
    end(&program);
}

Test(light, inclusive_times_are_sums_of_self_times)
{
    struct program program;
    uint64_t inner = 0;

    begin(&program, 1000);
    for (int i = 0; i < 500000; i++) {
        about(&program, 0, 30);
        line(&program, 1, 20);
        uint64_t ticks = 40 + random_below(&program, 40);
        call(&program, ticks);
        inner += ticks;
        pass(&program, 10);
        program.truth[1] += 10;
    }
    end_body(&program);
    const struct clp_block *own = program.thread->blocks[program.function];
    const struct clp_block *callee = program.thread->blocks[program.callee];
    cr_expect_eq(own->cells[1].nested, (int64_t)callee->cells[0].self);
    cr_expect_eq(own->total, own->cells[0].self + own->cells[1].self + callee->cells[0].self);
    cr_expect_eq(callee->cells[0].hits, 500000);
    cr_expect_lt(percent_off((double)callee->cells[0].self, (double)inner), 4);
    cr_expect_lt(worst_share(&program), 4);
    end(&program);
}

/* Where a thread waits as a profile is made, its line has the time up to then. */
Test(light, a_stay_that_goes_on_counts_up_to_now)
{
    struct program program;

    begin(&program, 1000);
    for (int i = 0; i < 5000; i++)
        about(&program, 0, 30);
    cr_assert(!program.thread->light.timed);
    line(&program, 1, 5);
    pass(&program, 30 * MILLI);
    end_body(&program);
    cr_expect_lt(percent_off(self_of(&program, 1), 30 * MILLI), 2);
    end(&program);
}

/* What a copy says of a stay that goes on: ticks of line 1. */
static uint64_t self_in_copy(struct program *program)
{
    struct clp_views views;
    struct clp_engine_copy copy;

    clp_views_init(&views, &program->engine, &program->pages);
    cr_assert_eq(clp_engine_copy_init(&copy, &program->engine, &views.scratch, program->now), CLP_OK);
    uint64_t self = copy.threads[0].copy->blocks[program->function]->cells[1].self;
    clp_engine_copy_clear(&copy);
    clp_views_clear(&views);
    return self;
}

/* Profiles are differences from copies, and must not be negative. */
Test(light, a_stay_that_goes_on_never_counts_less_later)
{
    struct program program;
    uint64_t before = 0;

    begin(&program, 1000);
    for (int i = 0; i < 5000; i++) {
        about(&program, 0, 30);
        about(&program, 1, 30);
    }
    line(&program, 1, 5);
    for (int i = 0; i < 50; i++) {
        uint64_t later = self_in_copy(&program);
        cr_expect_leq(before, later);
        before = later;
        pass(&program, 7 * MICRO);
    }
    end_body(&program);
    uint64_t at_end = program.thread->blocks[program.function]->cells[1].self;
    cr_expect_leq(before, at_end);
    cr_expect_gt(before, at_end - 50 * MICRO, "copies see what ticks have met");
    end(&program);
}

/* Behind each long execution the line counts as a long one for a while. */
Test(light, lines_that_are_seldom_long_are_right)
{
    struct program program;

    begin(&program, 1000);
    for (int i = 0; i < 2000000; i++) {
        about(&program, 0, 30);
        about(&program, 1, random_below(&program, 100) == 0 ? 20 * MICRO : 50);
    }
    end_body(&program);
    cr_expect_lt(worst_share(&program), 1.5);
    cr_expect_lt(percent_off(sum(&program), true_sum(&program)), 0.1);
    end(&program);
}

/* The pace is looked at where a tick was met. */
Test(light, the_pace_is_looked_at)
{
    struct program program;

    begin(&program, 1000);
    for (int i = 0; i < 50000; i++)
        about(&program, 0, 60);
    cr_expect_eq(program.slow, 0, "nobody looks");
    program.engine.pace_next = 0;
    program.readings = 0;
    for (int i = 0; i < 50000; i++)
        about(&program, 0, 60);
    cr_expect_eq(program.slow, program.readings);
    cr_expect_gt(program.slow, 100);
    end_body(&program);
    end(&program);
}

/* A collection is timed wherever it runs, and counts once. */
Test(light, collections_are_exact)
{
    struct program program;
    uint64_t ticks = 0;

    begin(&program, 1000);
    for (int i = 0; i < 20000; i++) {
        about(&program, 0, 30);
        about(&program, 1, 50);
        if (i % 97 != 0)
            continue;
        clp_garbage_begin(&program.engine, program.thread, program.now);
        pass(&program, 300 * MICRO);
        ticks += 300 * MICRO;
        clp_garbage_end(&program.engine, program.now);
    }
    end_body(&program);
    const struct clp_gc_cell *gc = clp_block_gc(program.thread->blocks[program.function]);
    cr_expect_eq(gc[1].ticks, ticks);
    cr_expect_eq(gc[1].runs, 207);
    cr_expect_lt(percent_off(self_of(&program, 1), (double)(ticks + program.truth[1])), 1);
    end(&program);
}

/* ---- memory ---- */

#define PAGE 4096

/* A line of about so many ticks that changes memory. */
static void changes(struct program *program, int number, uint64_t ticks, int64_t bytes)
{
    about(program, number, ticks);
    program->rss += bytes;
    program->changed[number] += bytes;
}

static const struct clp_rss_cell *memory_of(const struct program *program, int number)
{
    return &program->thread->blocks[program->function]->rss[number];
}

static double increment_of(const struct program *program, int number)
{
    return (double)memory_of(program, number)->self_increment;
}

static void expect_increment(const struct program *program, int number, double percent)
{
    double truth = (double)program->changed[number], found = increment_of(program, number);

    cr_expect_lt(percent_off(found, truth), percent, "line %d: %g of %g", number, found, truth);
}

/* Whatever happens, no byte is lost or counted twice. */
static void expect_all_bytes(const struct program *program)
{
    int64_t counted = clp_light_memory_left(program->thread), all = 0;

    for (int i = 0; i < LINES; i++) {
        counted += memory_of(program, i)->self_increment;
        all += program->changed[i];
    }
    cr_expect_eq(counted, all, "%ld of %ld", (long)counted, (long)all);
}

/* Line 1 has most of the time, line 2 and line 4 all of the growth. */
Test(light, memory_goes_to_the_lines_that_change_it)
{
    struct program program;

    begin_with_memory(&program, 1000);
    for (int i = 0; i < 300000; i++) {
        about(&program, 0, 30);
        about(&program, 1, 1500);
        changes(&program, 2, 700, i % 3 == 0 ? PAGE : 0);
        about(&program, 3, 100);
        changes(&program, 4, 700, i % 5 == 0 ? 2 * PAGE : 0);
    }
    end_body(&program);
    expect_all_bytes(&program);
    cr_expect_eq(increment_of(&program, 0) + increment_of(&program, 1) + increment_of(&program, 3), 0);
    expect_increment(&program, 2, 5);
    expect_increment(&program, 4, 5);
    cr_expect_eq(memory_of(&program, 2)->released + memory_of(&program, 4)->released, 0);
    cr_expect_eq(memory_of(&program, 2)->largest, PAGE, "a share is no change that was seen at once");
    cr_expect_lt(llabs(clp_light_memory_left(program.thread)), program.rss / 100, "what is left is divided in the next burst");
    cr_expect_lt(program.reads, program.events / 5);
    end(&program);
}

Test(light, releases_go_to_the_lines_that_release)
{
    struct program program;

    begin_with_memory(&program, 1000);
    for (int i = 0; i < 300000; i++) {
        changes(&program, 0, 900, 3 * PAGE);
        about(&program, 1, 60);
        changes(&program, 2, 900, i % 2 != 0 ? -4 * PAGE : 0);
        changes(&program, 3, 900, -PAGE);
    }
    end_body(&program);
    expect_all_bytes(&program);
    const struct clp_rss_cell *grows = memory_of(&program, 0), *two = memory_of(&program, 2);
    cr_expect_eq(grows->released + two->grown + memory_of(&program, 3)->grown, 0);
    cr_expect_lt(percent_off((double)two->released, -(double)program.changed[2]), 5, "%g of %g", (double)two->released, -(double)program.changed[2]);
    /* what is seen between reads is what has grown less what was released */
    cr_expect_geq(increment_of(&program, 0), -increment_of(&program, 2) - increment_of(&program, 3) - (1 << 20));
    end(&program);
}

Test(light, lines_that_seldom_change_memory_get_it)
{
    struct program program;

    begin_with_memory(&program, 1000);
    for (int i = 0; i < 1000000; i++) {
        about(&program, 0, 30);
        about(&program, 1, 60);
        if (i % 97 == 0)
            changes(&program, 2, 1500, PAGE);
        about(&program, 3, 90);
    }
    end_body(&program);
    expect_all_bytes(&program);
    cr_expect_eq(increment_of(&program, 0) + increment_of(&program, 1) + increment_of(&program, 3), 0);
    expect_increment(&program, 2, 15);
    end(&program);
}

/* Memory is read at both ends of a line that usually lasts long, so it has nothing of what others did before it. */
Test(light, memory_of_long_lines_is_exact)
{
    struct program program;

    begin_with_memory(&program, 0);
    for (int i = 0; i < 100000; i++) {
        about(&program, 0, 100);
        changes(&program, 1, 900, PAGE);
        if (i % 10 == 0)
            changes(&program, 2, 20 * MICRO, 5 * PAGE);
    }
    end_body(&program);
    expect_all_bytes(&program);
    cr_expect_eq(increment_of(&program, 2), (double)program.changed[2]);
    cr_expect_eq(increment_of(&program, 0), 0);
    expect_increment(&program, 1, 2);
    end(&program);
}

/* A burst may meet more of it than there was. What is then too much is taken from later growth, and is no release. */
Test(light, growth_of_unlike_sizes_is_no_release)
{
    struct program program;

    begin_with_memory(&program, 1000);
    for (int i = 0; i < 300000; i++) {
        about(&program, 0, 60);
        changes(&program, 1, 1500, random_below(&program, 100) == 0 ? 50 * PAGE : PAGE);
    }
    end_body(&program);
    expect_all_bytes(&program);
    cr_expect_eq(memory_of(&program, 1)->released, 0);
    expect_increment(&program, 1, 5);
    end(&program);
}

/* Where a read takes a microsecond, lines of five are not worth two reads each. */
Test(light, reads_are_little_beside_a_line)
{
    struct program program;

    begin_with_memory(&program, 0);
    program.engine.read_cost.least = MICRO;
    for (int i = 0; i < 100000; i++) {
        about(&program, 0, 100);
        changes(&program, 1, 5 * MICRO, i % 3 == 0 ? PAGE : 0);
        if (i % 100 == 0)
            changes(&program, 2, 40 * MICRO, PAGE);
    }
    uint64_t reads = program.reads;
    end_body(&program);
    expect_all_bytes(&program);
    cr_expect_lt(reads, program.events / 4, "%lu", (unsigned long)reads);
    cr_expect_eq(increment_of(&program, 2), (double)program.changed[2]);
    expect_increment(&program, 1, 2);
    end(&program);
}

/* A line that is short otherwise takes 64 MiB at once, now and then; half of these times in a burst. */
Test(light, a_long_stay_keeps_its_memory)
{
    struct program program;
    bool waits = false;

    begin_with_memory(&program, 1000);
    for (int i = 0; i < 500000; i++) {
        waits |= i % 20000 == 10000;
        bool large = waits && (i % 40000 < 20000 || program.thread->light.memory.sampled);
        waits &= !large;
        about(&program, 0, 100);
        changes(&program, 1, 700, i % 50 == 0 ? PAGE : 0);
        changes(&program, 2, large ? 50 * MILLI : 80, large ? 64 << 20 : 0);
        cr_assert_lt(program.now - program.thread->light.memory.burst, 80 * MILLI, "no burst for long");
    }
    end_body(&program);
    expect_all_bytes(&program);
    expect_increment(&program, 2, 0.1);
    expect_increment(&program, 1, 5);
    end(&program);
}

/* Lines change memory one after the other, for two milliseconds each. */
Test(light, short_phases_get_their_memory)
{
    struct program program;

    begin_with_memory(&program, 1000);
    for (int phase = 0; phase < 80; phase++) {
        for (int i = 0; i < 2000; i++) {
            about(&program, 0, 300);
            changes(&program, 1 + phase % 2, 700, i % 4 == 0 ? PAGE << phase % 2 : 0);
        }
        for (int i = 0; i < 80000; i++)
            about(&program, 3, 100);
    }
    end_body(&program);
    expect_all_bytes(&program);
    expect_increment(&program, 1, 12);
    expect_increment(&program, 2, 12);
    end(&program);
}

Test(light, what_seldom_goes_up_and_down_is_found)
{
    struct program program;

    begin_with_memory(&program, 1000);
    for (int i = 0; i < 2000000; i++) {
        about(&program, 0, 30);
        if (i % 97 == 0) {
            changes(&program, 1, 900, 2 * PAGE);
            changes(&program, 2, 900, -2 * PAGE);
        }
    }
    end_body(&program);
    expect_all_bytes(&program);
    expect_increment(&program, 1, 15);
    expect_increment(&program, 2, 15);
    end(&program);
}

/* What grows outside all lines takes its share, too. */
Test(light, growth_outside_lines_goes_to_no_line)
{
    struct program program;

    begin_with_memory(&program, 1000);
    for (int i = 0; i < 200000; i++) {
        changes(&program, 0, 700, i % 3 == 0 ? PAGE : 0);
        about(&program, 1, 100);
        leave(&program);
        pass(&program, 800);
        program.rss += i % 2 == 0 ? PAGE : 0;
        enter(&program, program.function, "a frame");
        program.hits[0]++;
    }
    end_body(&program);
    expect_increment(&program, 0, 5);
    cr_expect_eq(increment_of(&program, 1), 0);
    end(&program);
}

/* Ticks meet line 1 most often. Line 3 comes soon behind it, and line 4 long behind it. */
Test(light, what_comes_behind_a_slow_line_is_not_seen_too_often)
{
    struct program program;

    begin_with_memory(&program, 1000);
    for (int i = 0; i < 20000; i++) {
        for (int j = 0; j < 20; j++)
            about(&program, 0, 20);
        changes(&program, 3, 700, PAGE);
        for (int j = 0; j < 600; j++)
            about(&program, 2, 20);
        changes(&program, 4, 700, PAGE);
        about(&program, 1, 1500);
        about(&program, 1, 1500);
        about(&program, 1, 1500);
        about(&program, 1, 1500);
    }
    end_body(&program);
    expect_all_bytes(&program);
    expect_increment(&program, 3, 15);
    expect_increment(&program, 4, 15);
    end(&program);
}

/* Line 2 waits now and then. What line 1 has changed since the last read is not its own. */
Test(light, long_stays_leave_the_growth_of_others_alone)
{
    struct program program;

    begin_with_memory(&program, 1000);
    for (int i = 0; i < 300000; i++) {
        about(&program, 0, 30);
        changes(&program, 1, 700, i % 3 == 0 ? PAGE : 0);
        about(&program, 2, i % 300 == 0 ? 2 * MILLI : 50);
    }
    end_body(&program);
    expect_all_bytes(&program);
    cr_expect_eq(increment_of(&program, 2), 0);
    expect_increment(&program, 1, 1);
    end(&program);
}

/* Two functions take turns, and one changes memory in larger steps. */
Test(light, large_changes_are_seen_as_often_as_small_ones)
{
    struct program program;

    begin_with_memory(&program, 1000);
    for (int i = 0; i < 20000; i++) {
        for (int j = 0; j < 120; j++)
            if (j % 12 == 0)
                changes(&program, 1, 800, j % 60 == 0 ? PAGE : 0);
            else
                about(&program, 0, 20);
        for (int j = 0; j < 120; j++)
            if (j % 12 == 0)
                changes(&program, 2, 800, PAGE);
            else
                about(&program, 3, 20);
    }
    end_body(&program);
    expect_all_bytes(&program);
    expect_increment(&program, 1, 10);
    expect_increment(&program, 2, 10);
    end(&program);
}

/* The shares of a callee's line are in no caller's largest change. */
Test(light, the_largest_change_was_seen_at_once)
{
    struct program program;

    begin_with_memory(&program, 1000);
    for (int i = 0; i < 3000; i++) {
        about(&program, 0, 30);
        line(&program, 1, 20);
        enter(&program, program.callee, "another frame");
        for (int j = 0; j < 100; j++) {
            begin_line(&program, 7, 0);
            pass(&program, 700);
            program.rss += PAGE;
        }
        leave(&program);
    }
    end_body(&program);
    cr_expect_lt(percent_off((double)memory_of(&program, 1)->grown, 3000.0 * 100 * PAGE), 2);
    cr_expect_leq(memory_of(&program, 1)->largest, 101 * PAGE, "%ld", (long)memory_of(&program, 1)->largest);
    end(&program);
}

/* What is open when reading begins anew stays nobody's. */
Test(light, a_pause_of_reading_leaves_what_is_open_to_nobody)
{
    struct program program;

    begin_with_memory(&program, 0);
    for (int i = 0; i < 10000; i++)
        changes(&program, 1, 700, PAGE);
    clp_engine_take_up_rss(&program.engine, program.rss, MICRO / 2);
    int64_t left = clp_light_memory_left(program.thread);
    cr_expect_gt(left, 0);
    for (int i = 0; i < 10000; i++)
        changes(&program, 2, 700, i % 50 == 0 ? PAGE : 0);
    end_body(&program);
    expect_increment(&program, 2, 40);
    cr_expect_geq(clp_light_memory_left(program.thread), left * 9 / 10);
    end(&program);
}

/* As the_error_is_told, for memory. */
Test(light, the_error_of_memory_is_told)
{
    int right = 0;
    double told = 0, off = 0;

    for (int i = 0; i < 100; i++) {
        struct program program;
        begin_with_memory(&program, 100);
        draw_anew(&program, i);
        for (int j = 0; j < 60000; j++) {
            about(&program, 0, 300);
            changes(&program, 1 + (int)random_below(&program, 4), 800, random_below(&program, 6) == 0 ? PAGE : 0);
        }
        end_body(&program);
        double error = clp_light_memory_error(&program.thread->blocks[program.function]->light[1]);
        double distance = fabs(increment_of(&program, 1) - (double)program.changed[1]);
        right += distance <= 2 * error;
        told += error * error;
        off += distance * distance;
        end(&program);
    }
    cr_expect_geq(right, 93, "%d", right);
    cr_expect_lt(told, 2 * off, "%g", told / off);
    cr_expect_gt(told, off / 2, "%g", told / off);
}
