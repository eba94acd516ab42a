/* SPDX-License-Identifier: MIT */
/* Hits from counters on some ways. The graphs are small enough to be counted by hand. */
#include "engine/engine.h"
#include "engine/threads.h"
#include "engine/ways.h"
#include "helpers.h"

enum { LINES = 6, F = 0 };

struct fixture {
    struct test_mem test;
    struct clp_pages pages;
    struct clp_engine engine;
    struct clp_thread *thread;
};

static void begin(struct fixture *fixture)
{
    struct clp_function function = {.file = (char[]){"f.py"}, .name = (char[]){"f"}, .line_count = LINES};
    struct clp_mem *mem = test_mem_init(&fixture->test, 0);
    uint32_t number;

    fixture->pages = (struct clp_pages){0};
    clp_engine_init(&fixture->engine, mem, &fixture->pages);
    cr_assert_eq(clp_functions_add(&fixture->engine.functions, &function, &number), CLP_OK);
    fixture->thread = clp_engine_new_thread(&fixture->engine, 0, 0);
}

static void end(struct fixture *fixture)
{
    clp_engine_clear(&fixture->engine);
    cr_expect_eq(fixture->pages.bytes, 0);
    test_mem_check_empty(&fixture->test);
}

/* The graph of ways.h: b = d, c = e, a = b + c; a enters and begins line 0, b line 1, c line 2, d and e none. */
static struct clp_ways *branch(struct fixture *fixture, uint32_t function)
{
    static const struct clp_way_from_to items[] = {
        {.from = 2, .to = 0, .counter = 0, .cell = CLP_NO_CELL},
        {.from = 3, .to = 0, .counter = 1, .cell = CLP_NO_CELL},
        {.from = 1, .to = 2, .counter = CLP_WAY_DERIVED, .cell = 1},
        {.from = 1, .to = 3, .counter = CLP_WAY_DERIVED, .cell = 2},
        {.from = 0, .to = 1, .counter = CLP_WAY_DERIVED, .cell = 0, .flags = CLP_WAY_CALLS},
    };
    struct clp_ways *ways = clp_ways_new(&fixture->engine, function, 4, 5, 2);

    cr_assert_not_null(ways);
    memcpy(ways->items, items, sizeof items);
    return ways;
}

static void expect(const struct fixture *fixture, uint64_t a, uint64_t b, uint64_t c)
{
    cr_assert(clp_engine_has_block(fixture->thread, F));
    const struct clp_cell *cells = fixture->thread->blocks[F]->cells;
    cr_expect_eq(cells[0].hits, a, "a: %llu", (unsigned long long)cells[0].hits);
    cr_expect_eq(cells[1].hits, b, "b: %llu", (unsigned long long)cells[1].hits);
    cr_expect_eq(cells[2].hits, c, "c: %llu", (unsigned long long)cells[2].hits);
}

static uint64_t calls(const struct fixture *fixture)
{
    const struct clp_call *call = clp_calls_of(&fixture->engine.calls, F);

    return call != NULL ? call->counts.calls : 0;
}

Test(ways, what_flows_in_flows_out)
{
    struct fixture fixture;

    begin(&fixture);
    struct clp_ways *ways = branch(&fixture, F);
    ways->counters[0] = 5;
    ways->counters[1] = 7;
    cr_assert_eq(clp_ways_settle(fixture.thread, NULL, NULL, 0), CLP_OK);
    expect(&fixture, 12, 5, 7);
    cr_expect_eq(calls(&fixture), 12);
    end(&fixture);
}

Test(ways, settling_again_gives_what_is_new)
{
    struct fixture fixture;

    begin(&fixture);
    struct clp_ways *ways = branch(&fixture, F);
    ways->counters[0] = 5;
    cr_assert_eq(clp_ways_settle(fixture.thread, NULL, NULL, 0), CLP_OK);
    cr_assert_eq(clp_ways_settle(fixture.thread, NULL, NULL, 0), CLP_OK);
    expect(&fixture, 5, 5, 0);
    ways->counters[0] = 6;
    ways->counters[1] = 1;
    cr_assert_eq(clp_ways_settle(fixture.thread, NULL, NULL, 0), CLP_OK);
    expect(&fixture, 7, 6, 1);
    cr_expect_eq(calls(&fixture), 7);
    end(&fixture);
}

/* Bodies that run have come in, and not gone out. */
Test(ways, bodies_that_run_count)
{
    struct fixture fixture;

    begin(&fixture);
    struct clp_ways *other = branch(&fixture, F), *ways = branch(&fixture, F);
    ways->counters[0] = 5;
    struct clp_ways_running running[] = {{ways, 3}, {other, 1}, {ways, 2}, {ways, 3}};
    cr_assert_eq(clp_ways_settle(fixture.thread, NULL, running, 4), CLP_OK);
    expect(&fixture, 5 + 3 + 1, 5 + 1, 2);
    ways->counters[0] = 6; /* one of them leaves by d, one by e, one still runs; that of `other` has gone on to 2 */
    ways->counters[1] = 1;
    struct clp_ways_running later[] = {{other, 2}, {ways, 3}};
    cr_assert_eq(clp_ways_settle(fixture.thread, NULL, later, 2), CLP_OK);
    expect(&fixture, 9, 7, 2);
    end(&fixture);
}

/* A loop, whose only counter is on its way back: 0 -> 1 -> 2 -> 1, 1 -> 0. */
Test(ways, a_loop_and_a_line_that_only_counts)
{
    static const struct clp_way_from_to items[] = {
        {.from = 2, .to = 1, .counter = 0, .cell = 0},
        {.from = 0, .to = 1, .counter = 1, .cell = 0, .flags = CLP_WAY_CALLS},
        {.from = 2, .to = 2, .counter = 2, .cell = 5}, /* nothing flows by it */
        {.from = 1, .to = 2, .counter = CLP_WAY_DERIVED, .cell = 1},
        {.from = 1, .to = 0, .counter = CLP_WAY_DERIVED, .cell = CLP_NO_CELL, .flags = CLP_WAY_BY_FROM},
    };
    struct fixture fixture;

    begin(&fixture);
    struct clp_ways *ways = clp_ways_new(&fixture.engine, F, 3, 5, 3);
    memcpy(ways->items, items, sizeof items);
    ways->counters[0] = 10;
    ways->counters[1] = 2;
    ways->counters[2] = 4;
    cr_assert_eq(clp_ways_settle(fixture.thread, NULL, NULL, 0), CLP_OK);
    expect(&fixture, 12, 10, 0);
    cr_expect_eq(fixture.thread->blocks[F]->cells[5].hits, 4);
    cr_expect_eq(ways->items[4].given, 2, "it has left as often as it was entered");
    end(&fixture);
}

Test(ways, code_that_is_gone_gives_its_last_hits_and_its_memory)
{
    struct fixture fixture;

    begin(&fixture);
    struct clp_ways *ways = branch(&fixture, F);
    ways->counters[1] = 3;
    ways->gone = 1;
    cr_assert_eq(clp_ways_settle(fixture.thread, NULL, NULL, 0), CLP_OK);
    expect(&fixture, 3, 0, 3);
    cr_expect_null(fixture.engine.ways);
    cr_expect_eq((void *)branch(&fixture, F), (void *)ways, "its memory is used again");
    end(&fixture);
}

/* The counters of functions that are called in turn are to lie in few cache lines. */
Test(ways, counters_stand_side_by_side)
{
    struct fixture fixture;

    begin(&fixture);
    struct clp_ways *first = branch(&fixture, F), *second = branch(&fixture, F);
    struct clp_ways *large = clp_ways_new(&fixture.engine, F, 2, 2000, 2000), *last = branch(&fixture, F);
    cr_assert_not_null(large);
    cr_expect_eq(second->counters, first->counters + 2);
    cr_expect_neq(large->shared, first->shared);
    large->counters[1999] = 1;
    cr_expect_eq(last->counters[0], 0);
    first->gone = last->gone = large->gone = 1;
    second->counters[0] = 3;
    cr_assert_eq(clp_ways_settle(fixture.thread, NULL, NULL, 0), CLP_OK);
    expect(&fixture, 3, 3, 0);
    cr_expect_eq(fixture.engine.ways, second);
    cr_expect_null(fixture.engine.way_counters, "nobody counts in the newest");
    struct clp_ways *again = branch(&fixture, F);
    cr_expect_neq(again->counters, second->counters);
    cr_expect_eq(again->counters[0], 0);
    end(&fixture);
}

/* What was counted before there was a function is nobody's. */
Test(ways, what_is_counted_before_the_function_is_selected_does_not_count)
{
    struct fixture fixture;

    begin(&fixture);
    struct clp_ways *ways = branch(&fixture, UINT32_MAX);
    ways->counters[0] = 8;
    cr_assert_eq(clp_ways_settle(fixture.thread, NULL, NULL, 0), CLP_OK);
    cr_expect_not(clp_engine_has_block(fixture.thread, F));
    clp_ways_begin(&fixture.engine, ways, F);
    ways->counters[0] = 9;
    cr_assert_eq(clp_ways_settle(fixture.thread, NULL, NULL, 0), CLP_OK);
    expect(&fixture, 1, 1, 0);
    end(&fixture);
}

/* A function may have several versions; those of other functions are left for later. */
Test(ways, one_function_is_settled_alone)
{
    struct fixture fixture;
    const uint32_t one = F, none = 7;

    begin(&fixture);
    struct clp_ways *other = branch(&fixture, 5), *first = branch(&fixture, F), *second = branch(&fixture, F);
    struct clp_ways *third = branch(&fixture, F);
    other->counters[0] = first->counters[0] = 1;
    second->counters[0] = 2;
    third->counters[0] = 4;
    cr_expect(clp_ways_has(&fixture.engine, F));
    cr_expect_not(clp_ways_has(&fixture.engine, none));
    struct clp_ways_running running[] = {{other, 1}, {second, 3}};
    cr_assert_eq(clp_ways_settle(fixture.thread, &one, running, 2), CLP_OK);
    expect(&fixture, 8, 7, 1);
    cr_expect_eq(other->items[4].given, 0);
    cr_assert_eq(clp_ways_settle(fixture.thread, &none, NULL, 0), CLP_OK);
    second->gone = other->gone = 1;
    cr_assert_eq(clp_ways_settle(fixture.thread, NULL, NULL, 0), CLP_OK);
    cr_expect_not(clp_ways_has(&fixture.engine, 5));
    third->gone = 1;
    cr_assert_eq(clp_ways_settle(fixture.thread, NULL, NULL, 0), CLP_OK);
    first->counters[0] = 3;
    cr_assert_eq(clp_ways_settle(fixture.thread, &one, NULL, 0), CLP_OK);
    expect(&fixture, 10, 9, 1);
    first->gone = 1;
    cr_assert_eq(clp_ways_settle(fixture.thread, NULL, NULL, 0), CLP_OK);
    cr_expect_not(clp_ways_has(&fixture.engine, F));
    end(&fixture);
}

/* Where there is no memory to find them by their function, all are settled. */
Test(ways, without_memory_all_functions_are_settled)
{
    struct fixture fixture;
    const uint32_t one = F;

    begin(&fixture);
    fixture.test.fail_at = fixture.test.calls + 1;
    struct clp_ways *ways = branch(&fixture, F);
    ways->counters[0] = 2;
    cr_expect(clp_ways_has(&fixture.engine, F));
    cr_assert_eq(clp_ways_settle(fixture.thread, &one, NULL, 0), CLP_OK);
    expect(&fixture, 2, 2, 0);
    ways->gone = 1;
    cr_assert_eq(clp_ways_settle(fixture.thread, &one, NULL, 0), CLP_OK);
    cr_expect_null(fixture.engine.ways);
    end(&fixture);
}
