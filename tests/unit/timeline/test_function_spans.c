/* SPDX-License-Identifier: MIT */
#include "timeline/function_spans.h"
#include "helpers.h"

struct fixture {
    struct test_mem test;
    struct clp_pages pages;
    struct clp_engine engine;
    struct clp_thread *thread;
    struct clp_function_spans marks;
};

static void set_up(struct fixture *fixture)
{
    struct clp_mem *mem = test_mem_init(&fixture->test, 0);
    uint32_t number;

    fixture->pages = (struct clp_pages){0};
    memset(&fixture->marks, 0, sizeof fixture->marks);
    clp_engine_init(&fixture->engine, mem, &fixture->pages);
    for (int32_t i = 0; i < 3; i++) {
        struct clp_function function = {.file = (char[]){"f.py"}, .name = (char[]){"f"},
                                        .first_line = 10 * i + 1, .lowest_line = 10 * i + 1,
                                        .line_count = 10};
        cr_assert_eq(clp_functions_add(&fixture->engine.functions, &function, &number), CLP_OK);
    }
    fixture->thread = clp_engine_new_thread(&fixture->engine, 0, 0);
}

static void tear_down(struct fixture *fixture)
{
    clp_engine_clear(&fixture->engine);
    test_mem_check_empty(&fixture->test);
}

static void enter(struct fixture *fixture, uint32_t function, uint64_t now)
{
    cr_assert_not_null(clp_engine_enter(fixture->thread, function, NULL, now));
}

static void look(struct fixture *fixture, uint64_t now)
{
    clp_function_spans_look(&fixture->marks, &fixture->engine, now);
}

Test(marks, a_stay_has_its_exact_beginning_and_the_last_look)
{
    static struct fixture fixture;

    set_up(&fixture);
    look(&fixture, 50);
    enter(&fixture, 0, 100);
    look(&fixture, 150);
    enter(&fixture, 1, 160);
    look(&fixture, 200);
    look(&fixture, 250);
    clp_engine_leave(fixture.thread, 260);
    look(&fixture, 300);
    clp_function_spans_end(&fixture.marks);
    cr_assert_eq(fixture.marks.closed_count, 2);
    const struct clp_function_span *outer = &fixture.marks.closed[0], *inner = &fixture.marks.closed[1];
    cr_assert(outer->function == 0 && outer->level == 0);
    cr_assert(outer->enter == 100 && outer->leave == 300);
    cr_assert(inner->function == 1 && inner->level == 1);
    cr_assert(inner->enter == 160 && inner->leave == 250);
    tear_down(&fixture);
}

Test(marks, two_calls_are_two_stays_and_what_no_look_saw_is_none)
{
    static struct fixture fixture;

    set_up(&fixture);
    for (uint64_t i = 0; i < 3; i++) {
        enter(&fixture, 2, 100 * i + 10);
        if (i != 1)
            look(&fixture, 100 * i + 50);
        clp_engine_leave(fixture.thread, 100 * i + 90);
    }
    look(&fixture, 400);
    clp_function_spans_end(&fixture.marks);
    cr_assert_eq(fixture.marks.closed_count, 2);
    cr_assert_eq(fixture.marks.closed[0].enter, 10);
    cr_assert_eq(fixture.marks.closed[1].enter, 210);
    tear_down(&fixture);
}

Test(marks, time_in_which_the_clock_stood_still_is_counted)
{
    static struct fixture fixture;

    set_up(&fixture);
    clp_engine_stand_still(fixture.thread, 1000);
    enter(&fixture, 0, 5000);
    look(&fixture, 6000);
    clp_function_spans_end(&fixture.marks);
    cr_assert_eq(fixture.marks.closed[0].enter, 5000);
    tear_down(&fixture);
}

Test(marks, each_thread_has_its_own)
{
    static struct fixture fixture;

    set_up(&fixture);
    enter(&fixture, 0, 10);
    fixture.thread = clp_engine_new_thread(&fixture.engine, 0, 0);
    enter(&fixture, 0, 10);
    look(&fixture, 100);
    clp_function_spans_end(&fixture.marks);
    cr_assert_eq(fixture.marks.closed_count, 2);
    tear_down(&fixture);
}

Test(marks, deep_recursion_is_bounded)
{
    static struct fixture fixture;

    set_up(&fixture);
    for (uint64_t i = 0; i < 5000; i++)
        enter(&fixture, 0, i);
    look(&fixture, 10000);
    clp_function_spans_end(&fixture.marks);
    cr_assert_eq(fixture.marks.closed_count, CLP_FUNCTION_SPANS_DEPTH);
    clp_engine_unwind(fixture.thread, 20000);
    tear_down(&fixture);
}

/* Stays of 1, 2, 3 .. ticks: the longest are there in the end. */
Test(marks, when_the_room_is_full_the_longer_ones_stay)
{
    static struct fixture fixture;
    const uint64_t calls = 5 * CLP_FUNCTION_SPANS;
    uint64_t now = 0;

    set_up(&fixture);
    for (uint64_t i = 1; i <= calls; i++) {
        enter(&fixture, 0, now);
        look(&fixture, now + i);
        clp_engine_leave(fixture.thread, now + i);
        now += i + 10;
    }
    look(&fixture, now);
    clp_function_spans_end(&fixture.marks);
    cr_assert_leq(fixture.marks.closed_count, CLP_FUNCTION_SPANS);
    cr_assert_geq(fixture.marks.closed_count, CLP_FUNCTION_SPANS / 2);
    for (size_t i = 0; i < fixture.marks.closed_count; i++) {
        const struct clp_function_span *mark = &fixture.marks.closed[i];
        cr_assert_eq(mark->leave - mark->enter, calls - fixture.marks.closed_count + 1 + i);
        cr_assert(i == 0 || mark->enter > mark[-1].enter);
    }
    tear_down(&fixture);
}
