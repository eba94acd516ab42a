/* SPDX-License-Identifier: MIT */
#include "helpers.h"
#include "engine/parts.h"
#include "engine/reaping.h"
#include "engine/resident.h"
#include "formats/lprof/wire.h"
#include "formats/lprof/wire_reader.h"
#include "profile/calls.h"
#include "snapshots.h"
#include <math.h>

/* An engine with a few functions, and a profile to be filled from it. */
struct fixture {
    struct test_mem test;
    struct clp_pages pages;
    struct clp_engine engine;
    struct clp_profile profile;
};

static uint32_t add(struct fixture *fixture, const char *name, int32_t first_line,
                    uint32_t line_count)
{
    struct clp_function function = {.file = (char[]){"f.py"}, .name = (char *)(uintptr_t)name,
                                    .first_line = first_line, .lowest_line = first_line,
                                    .line_count = line_count};
    uint32_t number = UINT32_MAX;

    cr_assert_eq(clp_functions_add(&fixture->engine.functions, &function, &number), CLP_OK);
    return number;
}

static void set_up(struct fixture *fixture)
{
    struct clp_mem *mem = test_mem_init(&fixture->test, 0);

    fixture->pages = (struct clp_pages){0};
    clp_engine_init(&fixture->engine, mem, &fixture->pages);
    clp_profile_init(&fixture->profile, mem);
}

static void tear_down(struct fixture *fixture)
{
    clp_profile_clear(&fixture->profile);
    clp_engine_clear(&fixture->engine);
    cr_assert_eq(fixture->pages.bytes, 0);
    test_mem_check_empty(&fixture->test);
}

/* One call of the function: its line runs from `start` for `ticks`. */
static void call(struct clp_thread *thread, uint32_t function, int32_t line, uint64_t start,
                 uint64_t ticks)
{
    clp_engine_enter(thread, function, "a frame", start);
    clp_engine_line(thread, line, start);
    clp_engine_leave(thread, start + ticks);
}

static void take(struct fixture *fixture, double nanos_per_tick)
{
    cr_assert_eq(test_snapshot_take(&fixture->engine, nanos_per_tick, &fixture->profile), CLP_OK);
    test_check_profile(&fixture->profile);
}

Test(snapshot, of_nothing_is_empty)
{
    struct fixture fixture;

    set_up(&fixture);
    take(&fixture, 1);
    cr_assert_eq(fixture.profile.function_count, 0);
    cr_assert_eq(fixture.profile.meta.events, 0);
    cr_assert_eq(fixture.profile.meta.overhead, 0);
    cr_assert_not(fixture.profile.meta.has_memory);
    tear_down(&fixture);
}

/* Two standard errors; a damaged live file may hold any squares. */
Test(snapshot, tells_how_far_an_estimate_may_be_off)
{
    const double squares[] = {25, 0, -4, NAN, INFINITY};
    const uint64_t errors[] = {20, 0, 0, 0, UINT64_MAX};

    for (size_t i = 0; i < sizeof squares / sizeof *squares; i++) {
        struct fixture fixture;
        set_up(&fixture);
        cr_assert(clp_engine_add_parts(&fixture.engine, CLP_PART_LIGHT));
        uint32_t f = add(&fixture, "f", 1, 2);
        struct clp_thread *thread = clp_engine_new_thread(&fixture.engine, 0, 0);
        call(thread, f, 1, 0, 1000);
        thread->blocks[f]->light[0].squares = squares[i];
        take(&fixture, 2);
        cr_expect_eq(fixture.profile.functions[0].lines[0].measures.error, errors[i]);
        tear_down(&fixture);
    }
}

Test(snapshot, has_every_function_in_order_and_only_lines_that_ran)
{
    struct fixture fixture;

    set_up(&fixture);
    add(&fixture, "never", 1, 5);
    uint32_t f = add(&fixture, "f", 10, 5);
    struct clp_thread *thread = clp_engine_new_thread(&fixture.engine, 0, 0);
    call(thread, f, 13, 0, 8);
    call(thread, f, 11, 8, 2);
    take(&fixture, 1);
    cr_assert_eq(fixture.profile.function_count, 2);
    cr_assert_str_eq(fixture.profile.functions[0].name, "never");
    cr_assert_eq(fixture.profile.functions[0].line_count, 0);
    const struct clp_profile_function *function = &fixture.profile.functions[1];
    cr_assert_str_eq(function->file, "f.py");
    cr_assert_eq(function->first_line, 10);
    cr_assert_eq(function->total, 10);
    cr_assert_eq(function->line_count, 2);
    cr_assert_eq(function->lines[0].line, 11);
    cr_assert_eq(function->lines[1].line, 13);
    cr_assert_eq(function->lines[1].measures.time, 8);
    tear_down(&fixture);
}

Test(snapshot, ticks_become_nanoseconds_once_on_the_sum)
{
    struct fixture fixture;

    set_up(&fixture);
    uint32_t f = add(&fixture, "f", 1, 1);
    struct clp_thread *thread = clp_engine_new_thread(&fixture.engine, 0, 0);
    for (uint64_t i = 0; i < 10; i++)
        call(thread, f, 1, 10 * i, 1);
    clp_engine_stand_still(thread, 50);
    take(&fixture, 0.3);
    const struct clp_measures *measures = &fixture.profile.functions[0].lines[0].measures;
    cr_assert_eq(measures->time, 3, "10 ticks of 0.3, each by itself no nanosecond");
    cr_assert_eq(measures->raw_time, 3);
    cr_assert_eq(measures->self, 3);
    cr_assert_eq(measures->max, 1, "no less than the average");
    cr_assert_eq(fixture.profile.functions[0].total, 3);
    cr_assert_eq(fixture.profile.meta.overhead, 15);
    tear_down(&fixture);
}

Test(snapshot, sums_all_threads_and_leaves_the_engine_alone)
{
    struct fixture fixture;
    struct clp_profile again;

    set_up(&fixture);
    fixture.engine.parts = CLP_PART_MEMORY;
    uint32_t f = add(&fixture, "f", 1, 2);
    for (uint64_t i = 1; i <= 3; i++) {
        struct clp_thread *thread = clp_engine_new_thread(&fixture.engine, 0, 4096);
        clp_engine_note_rss(thread, 4096 * (int64_t)i);
        thread->reads++;
        call(thread, f, 2, 100 * i, 10 * i);
        thread->ended = i != 2;
        clp_engine_reap(&fixture.engine);
    }
    take(&fixture, 1);
    const struct clp_measures *measures = &fixture.profile.functions[0].lines[0].measures;
    cr_assert_eq(measures->hits, 3);
    cr_assert_eq(measures->time, 60);
    cr_assert_eq(measures->max, 30);
    cr_assert_eq(measures->rss, 4096 * 3);
    cr_assert_eq(fixture.profile.functions[0].total, 60);
    cr_assert_eq(fixture.profile.meta.events, 3);
    cr_assert_eq(fixture.profile.meta.reads, 3);
    cr_assert(fixture.profile.meta.has_memory);
    uint64_t mapped = fixture.pages.bytes;
    clp_profile_init(&again, &fixture.test.mem);
    cr_assert_eq(test_snapshot_take(&fixture.engine, 1, &again), CLP_OK);
    cr_assert(test_same_profile(&fixture.profile, &again), "a second snapshot differs");
    cr_assert_eq(fixture.pages.bytes, mapped);
    clp_profile_clear(&again);
    tear_down(&fixture);
}

/* Two code objects of one place and name but with other lines are one function to the user. */
Test(snapshot, functions_of_one_name_are_merged)
{
    struct fixture fixture;

    set_up(&fixture);
    uint32_t one = add(&fixture, "f", 1, 2), other = add(&fixture, "f", 1, 3);
    struct clp_thread *thread = clp_engine_new_thread(&fixture.engine, 0, 0);
    cr_assert_neq(one, other);
    call(thread, one, 2, 0, 5);
    call(thread, other, 2, 10, 7);
    call(thread, other, 3, 20, 1);
    take(&fixture, 1);
    cr_assert_eq(fixture.profile.function_count, 1);
    const struct clp_profile_function *function = &fixture.profile.functions[0];
    cr_assert_eq(function->total, 13);
    cr_assert_eq(function->line_count, 2);
    cr_assert_eq(function->lines[0].measures.hits, 2);
    cr_assert_eq(function->lines[0].measures.time, 12);
    cr_assert_eq(function->lines[0].measures.max, 7);
    tear_down(&fixture);
}

/* Lines FIRST and the next one; both may begin. The names of generator expressions, file and first line are equal. */
static uint32_t add_genexpr(struct fixture *fixture, int32_t first)
{
    struct clp_function function = {.file = (char[]){"f.py"}, .name = (char[]){"<genexpr>"}, .first_line = 1,
                                    .lowest_line = first, .line_count = 2, .instructions = (uint8_t[]){1, 1}};
    uint32_t number = UINT32_MAX;

    cr_assert_eq(clp_functions_add(&fixture->engine.functions, &function, &number), CLP_OK);
    return number;
}

Test(snapshot, missed_lines_of_one_name_are_merged)
{
    struct fixture fixture;

    set_up(&fixture);
    uint32_t low = add_genexpr(&fixture, 1), middle = add_genexpr(&fixture, 2), high = add_genexpr(&fixture, 5);
    uint32_t again = add_genexpr(&fixture, 2);
    struct clp_thread *thread = clp_engine_new_thread(&fixture.engine, 0, 0);
    call(thread, high, 6, 0, 5);
    call(thread, low, 1, 10, 5);
    call(thread, middle, 3, 20, 5);
    (void)again; /* none of its lines, 2 and 3, ran */
    take(&fixture, 1);
    const struct clp_profile_function *function = &fixture.profile.functions[0];
    cr_assert_eq(fixture.profile.function_count, 1);
    cr_assert_eq(function->line_count, 3); /* 1, 3, 6 */
    cr_assert_eq(function->missed_count, 2);
    cr_assert_eq(function->missed[0], 2);
    cr_assert_eq(function->missed[1], 5);
    tear_down(&fixture);
}

static void check_call(const struct clp_profile *profile, size_t place, struct clp_profile_call expected)
{
    const struct clp_profile_call *call = &profile->calls[place];

    cr_assert_lt(place, profile->call_count);
    cr_expect_eq(call->parent, expected.parent, "%zu: %u", place, call->parent);
    cr_expect_eq(call->function, expected.function, "%zu: %u", place, call->function);
    cr_expect_eq(call->line, expected.line, "%zu: %d", place, (int)call->line);
    cr_expect_eq(call->calls, expected.calls, "%zu: %d", place, (int)call->calls);
    cr_expect_eq(call->time, expected.time, "%zu: %d", place, (int)call->time);
}

/* The outer of two generator expressions runs the inner one, which calls g: in the profile this is recursion, and g is
 * called from the outer one, at the line of the inner one. */
Test(snapshot, a_call_between_functions_of_one_name_is_recursion)
{
    struct fixture fixture;

    set_up(&fixture);
    uint32_t outer = add_genexpr(&fixture, 1), inner = add_genexpr(&fixture, 2), g = add(&fixture, "g", 9, 1);
    struct clp_thread *thread = clp_engine_new_thread(&fixture.engine, 0, 0);
    clp_engine_enter(thread, outer, "outer", 0);
    clp_engine_line(thread, 1, 0);
    clp_engine_enter(thread, inner, "inner", 10);
    clp_engine_line(thread, 3, 10);
    call(thread, g, 9, 13, 4);
    clp_engine_leave(thread, 20);
    clp_engine_leave(thread, 30);
    take(&fixture, 1);
    cr_assert_eq(fixture.profile.function_count, 2);
    cr_assert_eq(fixture.profile.call_count, 3);
    /* the outer one took 30, the inner one 10 of them */
    check_call(&fixture.profile, 0, (struct clp_profile_call){.calls = 1, .time = 30});
    check_call(&fixture.profile, 1, (struct clp_profile_call){.parent = 1, .line = 1, .calls = 1, .time = 10});
    check_call(&fixture.profile, 2, (struct clp_profile_call){.parent = 1, .line = 3, .function = 1, .calls = 1, .time = 4});
    uint64_t self[3];
    cr_assert_eq(clp_profile_call_selves(&fixture.profile, self), CLP_OK);
    cr_expect_eq(self[0], 26);
    cr_expect_eq(self[1], 0);
    cr_expect_eq(self[2], 4);
    tear_down(&fixture);
}

static uint32_t next_random(uint32_t *state, uint32_t below)
{
    *state = *state * 1103515245 + 12345;
    return (*state >> 16) % below;
}

/* Calls between six functions, of which some share name and line, at random. */
static void call_at_random(struct fixture *fixture, uint32_t *random)
{
    struct clp_thread *thread = clp_engine_new_thread(&fixture->engine, 0, 0);
    uint32_t functions[6], stack[12];
    size_t depth = 0;

    for (size_t i = 0; i < 6; i++)
        functions[i] = next_random(random, 3) != 0 ? add_genexpr(fixture, 1 + (int32_t)next_random(random, 6))
                                                   : add(fixture, i % 2 ? "f" : "g", (int32_t)next_random(random, 2), 3);
    for (uint64_t now = 0; now < 300; now += 1 + next_random(random, 5)) {
        uint32_t what = next_random(random, 3);
        if (depth != 0 && what == 0) {
            clp_engine_leave(thread, now);
            depth--;
        } else if (depth < 12 && what == 1) {
            stack[depth] = functions[next_random(random, 6)];
            clp_engine_enter(thread, stack[depth], &stack[depth], now);
            depth++;
        }
        if (depth != 0) {
            const struct clp_function *top = &fixture->engine.functions.items[stack[depth - 1]];
            clp_engine_line(thread, top->lowest_line + (int32_t)next_random(random, top->line_count), now);
        }
    }
    clp_engine_unwind(thread, 400);
}

/* Nothing is written that the reader refuses. */
Test(snapshot, whatever_shares_a_name_can_be_read_again)
{
    for (uint32_t seed = 1; seed <= 500; seed++) {
        struct fixture fixture;
        struct clp_profile again;
        struct clp_fault fault;
        struct clp_buf file;
        uint32_t random = seed;
        set_up(&fixture);
        call_at_random(&fixture, &random);
        take(&fixture, 1);
        clp_buf_init(&file, &fixture.test.mem);
        clp_profile_init(&again, &fixture.test.mem);
        cr_assert_eq(clp_wire_encode(&fixture.profile, &file), CLP_OK);
        cr_assert_eq(clp_wire_decode(file.bytes, file.used, &again, &fault), CLP_OK, "%u: %s", seed, fault.reason);
        cr_assert_eq(again.left_out_count, 0, "%u: %s", seed, clp_buf_text(&again.left_out));
        cr_assert(test_same_profile(&fixture.profile, &again), "%u", seed);
        clp_profile_clear(&again);
        clp_buf_clear(&file);
        tear_down(&fixture);
    }
}

/* Python 3.14 makes such a function for each annotated one. */
Test(snapshot, functions_of_annotations_are_there_only_if_they_ran)
{
    static const char *const names[] = {"__annotate__", "A.f.__annotate__", "g.__annotate__", "an__annotate__"};
    struct fixture f;
    uint32_t numbers[4];

    set_up(&f);
    for (int i = 0; i < 4; i++)
        numbers[i] = add(&f, names[i], 10 * i, 2);
    call(clp_engine_new_thread(&f.engine, 0, 0), numbers[1], 10, 0, 20);
    take(&f, 1);
    cr_assert_eq(f.profile.function_count, 2);
    cr_expect_str_eq(f.profile.functions[0].name, "A.f.__annotate__");
    cr_expect_str_eq(f.profile.functions[1].name, "an__annotate__");
    tear_down(&f);
}

Test(snapshot, no_measure_is_less_than_nothing)
{
    struct fixture fixture;
    const struct clp_costs costs = {.line = 256 * 1000, .enter = {256 * 10, 256 * 20}};

    set_up(&fixture);
    clp_engine_set_costs(&fixture.engine, &costs);
    uint32_t f = add(&fixture, "f", 1, 1);
    struct clp_thread *thread = clp_engine_new_thread(&fixture.engine, 0, 0);
    call(thread, f, 1, 0, 5);
    take(&fixture, 1);
    const struct clp_measures *measures = &fixture.profile.functions[0].lines[0].measures;
    cr_assert_eq(measures->time, 0);
    cr_assert_eq(measures->self, 0);
    cr_assert_eq(measures->max, 0);
    cr_assert_eq(measures->raw_time, 5);
    cr_assert_eq(measures->raw_self, 5);
    cr_assert_eq(fixture.profile.functions[0].total, 0);
    cr_assert_eq(fixture.profile.functions[0].raw_total, 5);
    cr_assert_eq(fixture.profile.meta.overhead, 1030);
    tear_down(&fixture);
}

/* What is still running lacks the time of callees that are running, too; unwinding brings it. */
Test(snapshot, of_a_running_program)
{
    struct fixture fixture;
    struct clp_profile all;

    set_up(&fixture);
    uint32_t f = add(&fixture, "f", 1, 2);
    struct clp_thread *thread = clp_engine_new_thread(&fixture.engine, 0, 0);
    clp_engine_enter(thread, f, "a frame", 0);
    clp_engine_line(thread, 1, 0);
    clp_engine_line(thread, 2, 10);
    clp_engine_enter(thread, f, "another", 15);
    take(&fixture, 1);
    const struct clp_profile_function *function = &fixture.profile.functions[0];
    cr_assert_eq(function->total, 15, "what its lines have so far");
    cr_assert_eq(function->lines[0].measures.time, 10);
    cr_assert_eq(function->lines[1].measures.hits, 1);
    cr_assert_eq(function->lines[1].measures.self, 5);
    cr_assert_eq(function->lines[1].measures.time, 5);
    clp_engine_unwind(thread, 30);
    clp_profile_init(&all, &fixture.test.mem);
    cr_assert_eq(test_snapshot_take(&fixture.engine, 1, &all), CLP_OK);
    cr_assert_eq(all.functions[0].total, 30);
    cr_assert_eq(all.functions[0].lines[1].measures.time, 20);
    clp_profile_clear(&all);
    tear_down(&fixture);
}

Test(snapshot, out_of_memory_is_said_and_leaves_the_engine_whole)
{
    size_t fail_at = 0;
    bool failed;

    do {
        struct fixture fixture;
        set_up(&fixture);
        for (int32_t i = 0; i < 20; i++)
            add(&fixture, "f", i, 30);
        struct clp_thread *thread = clp_engine_new_thread(&fixture.engine, 0, 0);
        for (uint32_t i = 0; i < 20; i++) {
            for (int32_t line = 0; line < 20; line++)
                call(thread, i, (int32_t)i + line, 100, 0);
        }
        fixture.test.calls = 0;
        fixture.test.fail_at = ++fail_at;
        clp_status status = test_snapshot_take(&fixture.engine, 1, &fixture.profile);
        failed = test_mem_failed(&fixture.test);
        fixture.test.fail_at = 0;
        cr_assert_eq(status, failed ? CLP_NO_MEMORY : CLP_OK);
        test_check_profile(&fixture.profile);
        clp_profile_clear(&fixture.profile);
        cr_assert_eq(test_snapshot_take(&fixture.engine, 1, &fixture.profile), CLP_OK);
        cr_assert_eq(fixture.profile.meta.events, 400);
        tear_down(&fixture);
    } while (failed);
    cr_assert_gt(fail_at, 20);
}
