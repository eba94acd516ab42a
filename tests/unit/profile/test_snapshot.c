/* SPDX-License-Identifier: MIT */
#include "helpers.h"
#include "engine/reaping.h"
#include "engine/resident.h"
#include "snapshots.h"

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
