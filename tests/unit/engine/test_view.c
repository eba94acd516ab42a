/* SPDX-License-Identifier: MIT */
#include "engine/view.h"
#include "folder.h"
#include "helpers.h"
#include "formats/live/live.h"
#include "formats/live/live_reader.h"
#include "engine/parts.h"
#include "engine/resident.h"
#include "profile/snapshot.h"
#include <stdio.h>
#include <unistd.h>

/* An engine with two functions of three lines, one thread, and a clock. */
struct fixture {
    struct test_mem test;
    struct clp_pages pages, own_pages;
    struct clp_engine engine;
    struct clp_views views;
    struct clp_view a, b;
    struct clp_thread *thread;
    uint64_t now;
};

static void add_function(struct fixture *fixture, const char *name)
{
    struct clp_function function = {.file = (char[]){"f.py"}, .name = (char *)(uintptr_t)name,
                                    .first_line = 1, .lowest_line = 1, .line_count = 3};
    uint32_t number;

    cr_assert_eq(clp_functions_add(&fixture->engine.functions, &function, &number), CLP_OK);
}

static void set_up(struct fixture *fixture)
{
    struct clp_mem *mem = test_mem_init(&fixture->test, 0);

    fixture->pages = fixture->own_pages = (struct clp_pages){0};
    clp_engine_init(&fixture->engine, mem, &fixture->pages);
    clp_views_init(&fixture->views, &fixture->engine, &fixture->own_pages);
    clp_view_init(&fixture->a, &fixture->views, false);
    clp_view_init(&fixture->b, &fixture->views, false);
    add_function(fixture, "f");
    add_function(fixture, "g");
    fixture->thread = clp_engine_new_thread(&fixture->engine, 0, 0);
    fixture->now = 100;
}

static void tear_down(struct fixture *fixture)
{
    clp_view_clear(&fixture->a, fixture->now);
    clp_view_clear(&fixture->b, fixture->now);
    clp_views_clear(&fixture->views);
    clp_engine_clear(&fixture->engine);
    cr_assert_eq(fixture->pages.bytes + fixture->own_pages.bytes, 0);
    test_mem_check_empty(&fixture->test);
}

/* Enters the function, whose line 1 begins; as a tracer does, only where it counts. */
static void enter(struct fixture *fixture, uint32_t function)
{
    if (*clp_views_audience(&fixture->views, function)->gate != 0)
        test_enter_line(fixture->thread, function, NULL, 1, fixture->now);
}

static void wait(struct fixture *fixture, uint64_t ticks)
{
    fixture->now += ticks;
}

static void leave(struct fixture *fixture)
{
    clp_engine_leave(fixture->thread, fixture->now);
}

static void call(struct fixture *fixture, uint32_t function, uint64_t ticks)
{
    bool counts = *clp_views_audience(&fixture->views, function)->gate != 0;

    enter(fixture, function);
    wait(fixture, ticks);
    if (counts)
        leave(fixture);
}

static void set(struct fixture *fixture, struct clp_view *view, bool counting)
{
    cr_assert_eq(clp_view_set_counting(view, counting, fixture->now), CLP_OK);
}

static void give(struct fixture *fixture, struct clp_view *view, uint32_t function)
{
    cr_assert_eq(clp_view_add(view, function, fixture->now), CLP_OK);
}

/* The calls of the function: each body is a hit of its first line. */
static void check_calls(struct fixture *fixture, const struct clp_view *view,
                        const struct clp_view_item *item, const struct clp_engine_copy *copy,
                        uint64_t hits, uint64_t time)
{
    struct clp_call_sums *sums = clp_view_calls(view, item, copy);
    struct clp_call_counts sum = {0};

    cr_assert_not_null(sums);
    for (uint32_t i = 0; i < sums->count; i++)
        clp_call_counts_add(&sum, &sums->items[i].counts);
    clp_pool_give(&fixture->views.pool, sums);
    cr_expect_eq(sum.calls, hits, "%llu calls", (unsigned long long)sum.calls);
    cr_expect_eq(sum.ticks, time, "calls of %llu ticks", (unsigned long long)sum.ticks);
}

/* Of the function's first line. */
static void check(struct fixture *fixture, const struct clp_view *view, uint32_t function,
                  uint64_t hits, uint64_t time, int64_t largest)
{
    struct clp_engine_copy ended;
    const struct clp_view_item *item = clp_view_find(view, function);

    cr_assert_not_null(item);
    cr_assert_eq(clp_engine_copy_init(&ended, &fixture->engine, &fixture->views.scratch, fixture->now),
                 CLP_OK);
    struct clp_block *sum = clp_view_sum(view, item, &ended, 0);
    check_calls(fixture, view, item, &ended, hits, time);
    clp_engine_copy_clear(&ended);
    cr_assert_not_null(sum);
    cr_expect_eq(sum->cells[0].hits, hits, "%llu hits", (unsigned long long)sum->cells[0].hits);
    cr_expect_eq(clp_cell_time(&sum->cells[0]), time, "time is %llu",
                 (unsigned long long)clp_cell_time(&sum->cells[0]));
    cr_expect_eq(sum->cells[0].max, largest, "largest is %lld", (long long)sum->cells[0].max);
    clp_block_free(&fixture->views.pool, sum);
}

Test(view, each_has_its_windows)
{
    struct fixture fixture;

    set_up(&fixture);
    give(&fixture, &fixture.a, 0);
    give(&fixture, &fixture.b, 0);
    call(&fixture, 0, 1);
    set(&fixture, &fixture.a, true);
    call(&fixture, 0, 10);
    set(&fixture, &fixture.b, true);
    call(&fixture, 0, 5);
    set(&fixture, &fixture.a, false);
    call(&fixture, 0, 20);
    set(&fixture, &fixture.b, false);
    call(&fixture, 0, 100);
    check(&fixture, &fixture.a, 0, 2, 15, 10);
    check(&fixture, &fixture.b, 0, 2, 25, 20);
    set(&fixture, &fixture.a, true);
    call(&fixture, 0, 1);
    check(&fixture, &fixture.a, 0, 3, 16, 10);
    check(&fixture, &fixture.b, 0, 2, 25, 20);
    tear_down(&fixture);
}

Test(view, of_one_alone_needs_no_blocks)
{
    struct fixture fixture;

    set_up(&fixture);
    give(&fixture, &fixture.a, 0);
    set(&fixture, &fixture.a, true);
    call(&fixture, 0, 10);
    set(&fixture, &fixture.a, false);
    set(&fixture, &fixture.a, true);
    call(&fixture, 0, 5);
    const struct clp_view_item *item = clp_view_find(&fixture.a, 0);
    cr_assert(item->sum == NULL && item->base == NULL);
    check(&fixture, &fixture.a, 0, 2, 15, 10);
    tear_down(&fixture);
}

Test(view, what_runs_counts_up_to_now_and_goes_on)
{
    struct fixture fixture;

    set_up(&fixture);
    give(&fixture, &fixture.a, 0);
    give(&fixture, &fixture.a, 1);
    give(&fixture, &fixture.b, 0);
    set(&fixture, &fixture.a, true);
    enter(&fixture, 0);
    wait(&fixture, 10);
    enter(&fixture, 1);
    wait(&fixture, 5);
    check(&fixture, &fixture.a, 0, 1, 15, 15);
    check(&fixture, &fixture.a, 1, 1, 5, 5);
    set(&fixture, &fixture.b, true); /* in the middle of the callee */
    wait(&fixture, 3);
    leave(&fixture);
    wait(&fixture, 2);
    check(&fixture, &fixture.b, 0, 0, 5, 20); /* a profile shows no more than the time */
    leave(&fixture);
    check(&fixture, &fixture.a, 0, 1, 20, 20);
    check(&fixture, &fixture.a, 1, 1, 8, 8);
    cr_expect_eq(fixture.thread->top, fixture.thread->stack);
    tear_down(&fixture);
}

Test(view, what_runs_when_one_stops_goes_on_unseen)
{
    struct fixture fixture;

    set_up(&fixture);
    give(&fixture, &fixture.a, 0);
    give(&fixture, &fixture.b, 1);
    set(&fixture, &fixture.a, true);
    set(&fixture, &fixture.b, true);
    enter(&fixture, 0);
    wait(&fixture, 10);
    enter(&fixture, 1);
    wait(&fixture, 5);
    set(&fixture, &fixture.a, false);
    wait(&fixture, 100);
    leave(&fixture);
    leave(&fixture);
    check(&fixture, &fixture.a, 0, 1, 15, 15);
    check(&fixture, &fixture.b, 1, 1, 105, 105);
    set(&fixture, &fixture.a, true);
    call(&fixture, 0, 1);
    check(&fixture, &fixture.a, 0, 2, 16, 15);
    tear_down(&fixture);
}

Test(view, the_last_that_stops_takes_everything_off_the_stacks)
{
    struct fixture fixture;

    set_up(&fixture);
    give(&fixture, &fixture.a, 0);
    set(&fixture, &fixture.a, true);
    enter(&fixture, 0);
    wait(&fixture, 10);
    set(&fixture, &fixture.a, false);
    cr_expect_eq(fixture.thread->top, fixture.thread->stack);
    wait(&fixture, 10);
    check(&fixture, &fixture.a, 0, 1, 10, 10);
    tear_down(&fixture);
}

Test(view, given_up_and_taken_again)
{
    struct fixture fixture;

    set_up(&fixture);
    give(&fixture, &fixture.a, 0);
    give(&fixture, &fixture.b, 0);
    set(&fixture, &fixture.a, true);
    set(&fixture, &fixture.b, true);
    call(&fixture, 0, 10);
    cr_assert_eq(clp_view_remove(&fixture.a, 0, fixture.now), CLP_OK);
    cr_expect_not(clp_view_has(&fixture.a, 0));
    call(&fixture, 0, 10);
    check(&fixture, &fixture.a, 0, 1, 10, 10);
    give(&fixture, &fixture.a, 0);
    call(&fixture, 0, 10);
    check(&fixture, &fixture.a, 0, 2, 20, 10);
    check(&fixture, &fixture.b, 0, 3, 30, 10);
    cr_assert_eq(clp_view_reset(&fixture.a, fixture.now), CLP_OK);
    check(&fixture, &fixture.a, 0, 0, 0, 0);
    check(&fixture, &fixture.b, 0, 3, 30, 10);
    tear_down(&fixture);
}

/* Calls the compiled code of function 0, as what tells of it does. */
static void call_compiled(const struct fixture *f, uint64_t calls)
{
    struct clp_compiled *compiled = clp_views_compiled(&f->views, 0);

    if (compiled == NULL)
        return;
    compiled->calls += calls;
    compiled->times += 1;
    compiled->nanos += 7;
}

static uint64_t compiled_calls(const struct clp_view *view)
{
    struct clp_compiled compiled = clp_view_compiled(view, clp_view_find(view, 0));

    cr_assert_eq(compiled.nanos, compiled.times * 7);
    return compiled.calls;
}

Test(view, calls_of_compiled_code_count_in_windows)
{
    struct fixture f;

    set_up(&f);
    call_compiled(&f, 1); /* before anybody has the function */
    cr_assert_eq(clp_view_add(&f.a, 0, f.now), CLP_OK);
    call_compiled(&f, 1);
    cr_assert_eq(clp_view_set_counting(&f.a, true, f.now), CLP_OK);
    call_compiled(&f, 10);
    cr_assert_eq(clp_view_set_counting(&f.a, false, f.now), CLP_OK);
    call_compiled(&f, 1); /* a view by itself stays attached */
    cr_assert_eq(clp_view_set_counting(&f.a, true, f.now), CLP_OK);
    cr_assert_eq(compiled_calls(&f.a), 10);
    cr_assert_eq(clp_view_add(&f.b, 0, f.now), CLP_OK);
    cr_assert_eq(clp_view_set_counting(&f.b, true, f.now), CLP_OK);
    call_compiled(&f, 100);
    cr_assert_eq(clp_view_set_counting(&f.a, false, f.now), CLP_OK);
    call_compiled(&f, 1000);
    cr_assert_eq(compiled_calls(&f.a), 110);
    cr_assert_eq(compiled_calls(&f.b), 1100);
    cr_assert_eq(clp_view_set_counting(&f.a, true, f.now), CLP_OK);
    call_compiled(&f, 10000);
    cr_assert_eq(compiled_calls(&f.a), 10110);
    cr_assert_eq(clp_view_reset(&f.a, f.now), CLP_OK);
    call_compiled(&f, 1);
    cr_assert_eq(compiled_calls(&f.a), 1);
    cr_assert_eq(compiled_calls(&f.b), 11101);
    cr_assert_eq(clp_view_remove(&f.b, 0, f.now), CLP_OK);
    call_compiled(&f, 1);
    cr_assert_eq(compiled_calls(&f.b), 11101);
    tear_down(&f);
}

Test(view, gates)
{
    struct fixture fixture;

    set_up(&fixture);
    const struct clp_audience *f = clp_views_audience(&fixture.views, 0);
    cr_expect_eq(*f->gate, 0);
    give(&fixture, &fixture.a, 0);
    cr_expect_eq(*f->gate, 0);
    set(&fixture, &fixture.a, true);
    cr_expect_neq(*f->gate, 0);
    give(&fixture, &fixture.b, 0);
    set(&fixture, &fixture.b, true);
    set(&fixture, &fixture.a, false);
    cr_expect_neq(*f->gate, 0);
    set(&fixture, &fixture.b, false);
    cr_expect_eq(*f->gate, 0);
    set(&fixture, &fixture.b, true);
    cr_assert_eq(clp_view_remove(&fixture.b, 0, fixture.now), CLP_OK);
    cr_expect_eq(*f->gate, 0);
    tear_down(&fixture);
}

/* A tracer decides which bodies count for a limited view, so its functions' gates stay closed. */
Test(view, gates_of_a_limited_one)
{
    struct fixture fixture;

    set_up(&fixture);
    fixture.a.limited = true;
    const struct clp_audience *f = clp_views_audience(&fixture.views, 0);
    give(&fixture, &fixture.a, 0);
    set(&fixture, &fixture.a, true);
    cr_expect_eq(*f->gate, 0);
    test_enter_line(fixture.thread, 0, NULL, 1, fixture.now);
    wait(&fixture, 5);
    leave(&fixture);
    give(&fixture, &fixture.b, 0);
    cr_expect_eq(*f->gate, 0);
    set(&fixture, &fixture.a, false);
    cr_expect_eq(*f->gate, 0);
    set(&fixture, &fixture.b, true);
    cr_expect_eq(*f->gate, 1);
    set(&fixture, &fixture.b, false);
    set(&fixture, &fixture.a, true);
    cr_expect_eq(*f->gate, 0);
    cr_assert_eq(clp_view_remove(&fixture.a, 0, fixture.now), CLP_OK);
    set(&fixture, &fixture.a, false);
    set(&fixture, &fixture.b, true);
    cr_expect_eq(*f->gate, 1);
    check(&fixture, &fixture.a, 0, 1, 5, 5);
    check(&fixture, &fixture.b, 0, 0, 0, 0);
    tear_down(&fixture);
}

Test(view, memory_can_be_added_while_bodies_run)
{
    struct fixture fixture;

    set_up(&fixture);
    give(&fixture, &fixture.a, 0);
    set(&fixture, &fixture.a, true);
    call(&fixture, 0, 10);
    enter(&fixture, 0);
    wait(&fixture, 5);
    cr_assert(clp_engine_add_parts(&fixture.engine, CLP_PART_MEMORY));
    clp_engine_take_up_rss(&fixture.engine, 1 << 20, 0);
    clp_engine_note_rss(fixture.thread, (1 << 20) + 4096);
    wait(&fixture, 5);
    leave(&fixture);
    check(&fixture, &fixture.a, 0, 2, 20, 10);
    cr_assert_not_null(fixture.thread->blocks[0]->rss);
    cr_expect_eq(fixture.thread->blocks[0]->rss[0].grown, 4096);
    tear_down(&fixture);
}

/* Whatever allocation fails: nothing is lost twice, and all memory comes back. */
Test(view, survives_want_of_memory)
{
    for (size_t fail_at = 1;; fail_at++) {
        struct fixture fixture;
        set_up(&fixture);
        fixture.test.fail_at = fixture.test.calls + fail_at;
        (void)clp_view_add(&fixture.a, 0, fixture.now);
        (void)clp_view_add(&fixture.b, 0, fixture.now);
        (void)clp_view_set_counting(&fixture.a, true, fixture.now);
        test_enter_line(fixture.thread, 0, NULL, 1, fixture.now);
        (void)clp_view_set_counting(&fixture.b, true, fixture.now);
        (void)clp_view_set_counting(&fixture.a, false, fixture.now);
        (void)clp_view_remove(&fixture.b, 0, fixture.now);
        bool failed = test_mem_failed(&fixture.test);
        tear_down(&fixture);
        if (!failed)
            break;
    }
}

Test(view, that_stops_without_memory_counts_no_more)
{
    for (size_t fail_at = 1;; fail_at++) {
        struct fixture fixture;
        set_up(&fixture);
        give(&fixture, &fixture.a, 0);
        give(&fixture, &fixture.b, 0);
        set(&fixture, &fixture.a, true);
        set(&fixture, &fixture.b, true);
        enter(&fixture, 0);
        fixture.test.fail_at = fixture.test.calls + fail_at;
        (void)clp_view_set_counting(&fixture.a, false, fixture.now);
        (void)clp_view_set_counting(&fixture.b, false, fixture.now);
        bool failed = test_mem_failed(&fixture.test);
        cr_expect_eq(*clp_views_audience(&fixture.views, 0)->gate, 0, "allocation %zu", fail_at);
        tear_down(&fixture);
        if (!failed)
            break;
    }
}

static const struct clp_live_header start = {
    .who.pid = 1, .start = 5, .rough_nanos = 1, .start_ticks = 1, .python = "3.12.1", .tracer = "script"};

/* A live file shows its own view: neither functions of others, nor what they counted before. */
Test(view, of_a_live_file)
{
    char path[256];
    struct fixture fixture;
    struct clp_live live;
    struct clp_fault fault;
    struct clp_live_about about;
    struct clp_profile profile;

    test_temporary_name(path, sizeof path);
    int file = mkstemp(path);
    cr_assert(file >= 0 && close(file) == 0 && unlink(path) == 0);
    struct clp_mem *mem = test_mem_init(&fixture.test, 0);
    fixture.pages = fixture.own_pages = (struct clp_pages){0};
    cr_assert_eq(clp_live_open(&live, &fixture.pages, mem, path, &start, &fault), CLP_OK);
    clp_engine_init(&fixture.engine, mem, &fixture.pages);
    fixture.engine.functions.added = clp_live_note_function;
    fixture.engine.functions.listener = &live;
    clp_views_init(&fixture.views, &fixture.engine, &fixture.own_pages);
    clp_view_init(&fixture.a, &fixture.views, true);
    clp_view_init(&fixture.b, &fixture.views, false);
    live.foreign = true;
    add_function(&fixture, "f");
    add_function(&fixture, "g");
    fixture.thread = clp_engine_new_thread(&fixture.engine, 0, 0);
    fixture.now = 100;
    give(&fixture, &fixture.b, 0);
    give(&fixture, &fixture.b, 1);
    set(&fixture, &fixture.b, true);
    set(&fixture, &fixture.a, true);
    call(&fixture, 0, 10);
    give(&fixture, &fixture.a, 0);
    clp_live_note_own(&live, 0);
    call(&fixture, 0, 7);
    call(&fixture, 1, 3);
    clp_profile_init(&profile, mem);
    cr_assert_eq(clp_live_read(path, NULL, &profile, &about, &fault), CLP_OK, "%s", fault.reason);
    cr_assert_eq(profile.function_count, 1);
    cr_expect_str_eq(profile.functions[0].name, "f");
    cr_expect_eq(profile.functions[0].lines[0].measures.hits, 1);
    cr_expect_eq(profile.functions[0].lines[0].measures.time, 7);
    cr_expect_eq(profile.meta.events, 1);
    clp_profile_clear(&profile);
    unlink(path);
    clp_view_clear(&fixture.a, fixture.now);
    clp_view_clear(&fixture.b, fixture.now);
    clp_views_clear(&fixture.views);
    clp_engine_clear(&fixture.engine);
    clp_pages_unmap(&fixture.pages, live.header, (size_t)live.header->bytes);
    clp_pages_close(&fixture.pages);
    test_mem_check_empty(&fixture.test);
}
