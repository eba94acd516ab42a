/* SPDX-License-Identifier: MIT */
#include "engine/tallies.h"
#include "engine/engine.h"
#include "engine/parts.h"
#include "helpers.h"

Test(tallies, names_of_sources)
{
    cr_expect_eq(clp_tally_sources_named(""), 0);
    cr_expect_eq(clp_tally_sources_named("io"), CLP_TALLY_SOURCE_IO);
    cr_expect_eq(clp_tally_sources_named("switches,faults"), CLP_TALLY_SOURCE_FAULTS | CLP_TALLY_SOURCE_SWITCHES);
    cr_expect_eq(clp_tally_sources_named("io,"), CLP_TALLY_SOURCE_IO);
    cr_expect_eq(clp_tally_sources_named("i"), CLP_TALLY_SOURCE_UNKNOWN);
    cr_expect_eq(clp_tally_sources_named("iox"), CLP_TALLY_SOURCE_UNKNOWN);
    cr_expect_eq(clp_tally_sources_named("faults,io,cache"), CLP_TALLY_SOURCE_UNKNOWN);
    cr_expect_eq(clp_tally_sources_named(",io"), CLP_TALLY_SOURCE_UNKNOWN);
}

/* An engine with one function of three lines, 1 to 3, and a thread. */
struct fixture {
    struct clp_pages pages;
    struct clp_engine engine;
    struct clp_thread *thread;
    struct test_mem test;
};

static void set_up(struct fixture *fixture)
{
    struct clp_function function = {.file = (char[]){"f.py"}, .name = (char[]){"f"},
                                    .first_line = 1, .lowest_line = 1, .line_count = 3};
    uint32_t number;

    fixture->pages = (struct clp_pages){0};
    clp_engine_init(&fixture->engine, test_mem_init(&fixture->test, 0), &fixture->pages);
    cr_assert_eq(clp_functions_add(&fixture->engine.functions, &function, &number), CLP_OK);
    fixture->thread = clp_engine_new_thread(&fixture->engine, 0, 0);
    cr_assert_not_null(fixture->thread);
}

static void tear_down(struct fixture *fixture)
{
    clp_engine_clear(&fixture->engine);
    test_mem_check_empty(&fixture->test);
}

Test(tallies, changes_belong_to_the_line_on_top)
{
    int64_t last[2] = {100, 7}, values[2] = {130, 7};
    struct fixture fixture;

    set_up(&fixture);
    cr_assert(clp_engine_add_parts(&fixture.engine, CLP_PART_TALLIES));
    cr_assert_null(clp_tallies_of_top(fixture.thread));
    test_enter_line(fixture.thread, 0, NULL, 2, 10);
    struct clp_tally_cell *cell = clp_tallies_of_top(fixture.thread);
    cr_assert_eq(cell, &fixture.thread->blocks[0]->tallies[1]);
    clp_tallies_note(cell, CLP_TALLY_FAULTS, 2, values, last);
    clp_tallies_note(NULL, CLP_TALLY_FAULTS, 2, (const int64_t[]){150, 9}, last);
    clp_tallies_note(cell, CLP_TALLY_FAULTS, 2, (const int64_t[]){149, 10}, last);
    cr_expect_eq(cell->sums[CLP_TALLY_FAULTS], 29);
    cr_expect_eq(cell->sums[CLP_TALLY_MAJOR_FAULTS], 1);
    cr_expect_eq(cell->sums[CLP_TALLY_READ], 0);
    tear_down(&fixture);
}

/* Both parts, one after the other, while a body runs: it goes on in its new block with what it has counted. */
Test(tallies, parts_can_be_added_while_a_body_runs)
{
    struct fixture fixture;

    set_up(&fixture);
    test_enter_line(fixture.thread, 0, NULL, 2, 10);
    clp_engine_line(fixture.thread, 3, 30);
    cr_assert_null(clp_tallies_of_top(fixture.thread));
    cr_assert(clp_engine_add_parts(&fixture.engine, CLP_PART_TALLIES));
    clp_tallies_of_top(fixture.thread)->sums[0] = 5;
    clp_block_cpu(fixture.thread->blocks[0])[2].wait = 6;
    cr_assert(clp_engine_add_parts(&fixture.engine, CLP_PART_MEMORY));
    clp_engine_leave(fixture.thread, 70);
    const struct clp_block *block = fixture.thread->blocks[0];
    cr_expect_eq(fixture.engine.parts, CLP_PART_MEMORY | CLP_PART_TALLIES);
    cr_expect_not_null(block->rss);
    cr_expect_eq(block->tallies[2].sums[0], 5);
    cr_expect_eq(clp_block_cpu(block)[2].wait, 6);
    cr_expect_eq(block->cells[1].hits, 1);
    cr_expect_eq(block->cells[1].self, 20);
    cr_expect_eq(block->cells[2].self, 40);
    cr_expect_eq(block->total, 60);
    cr_expect_eq(block->running, 0);
    tear_down(&fixture);
}

Test(tallies, merging_and_subtracting)
{
    struct clp_function function = {.first_line = 9, .lowest_line = 10, .line_count = 2};
    struct clp_pages pages = {0};
    struct clp_pool pool;

    clp_pool_init(&pool, &pages);
    struct clp_block *into = clp_block_new(&pool, &function, 0, CLP_PARTS_ALL);
    struct clp_block *from = clp_block_new(&pool, &function, 0, CLP_PART_TALLIES);
    struct clp_block *without = clp_block_new(&pool, &function, 0, CLP_PART_MEMORY);
    for (size_t i = 0; i < CLP_TALLIES; i++) {
        into->tallies[1].sums[i] = (int64_t)i;
        from->tallies[1].sums[i] = (int64_t)i * 10 + 1;
    }
    into->tallies[1].most[3] = 5;
    from->tallies[1].most[3] = 4;
    from->tallies[1].most[0] = 9;
    clp_block_merge(into, from);
    clp_block_merge(into, without);
    clp_block_merge(without, from);
    cr_expect_eq(into->tallies[1].sums[CLP_TALLIES - 1], (CLP_TALLIES - 1) * 11 + 1);
    cr_expect_eq(into->tallies[1].most[3], 5);
    cr_expect_eq(into->tallies[1].most[0], 9);
    cr_expect_eq(into->tallies[0].sums[5], 0);
    clp_block_subtract(into, from);
    cr_expect_eq(into->tallies[1].sums[CLP_TALLIES - 1], CLP_TALLIES - 1);
    cr_expect_eq(into->tallies[1].most[0], 9);
    clp_block_forget_largest(into);
    cr_expect_eq(into->tallies[1].most[0], 0);
    cr_expect_eq(into->tallies[1].sums[1], 1);
    clp_block_merge_largest(into, from);
    cr_expect_eq(into->tallies[1].most[0], 9);
    clp_pool_clear(&pool);
}

/* Reading costs 10. What may be saved up is 400; a line adds half its length, and 50 at most. */
Test(tallies, short_lines_are_read_as_long_as_there_is_a_budget)
{
    struct clp_tally_budget budget = {.left = 25, .most = 400};

    cr_expect_eq(clp_tallies_shortest(&budget, 10), 0);
    cr_expect(clp_tallies_afford(&budget, 40, 10), "a long line spends nothing");
    cr_expect_eq(budget.left, 45);
    for (int i = 0; i < 7; i++)
        cr_expect(clp_tallies_afford(&budget, 8, 10), "%d", i);
    cr_expect_eq(budget.left, 45 + 7 * 4 - 7 * 10);
    cr_expect_not(clp_tallies_afford(&budget, 8, 10));
    cr_expect(budget.spent);
    cr_expect_eq(clp_tallies_shortest(&budget, 10), 40);
    cr_expect_not(clp_tallies_afford(&budget, 39, 10), "there is enough, but not half of the most");
    for (int i = 0; i < 3; i++)
        cr_expect(clp_tallies_afford(&budget, 1000000, 10));
    cr_expect(budget.spent);
    cr_expect(clp_tallies_afford(&budget, 1000000, 10));
    cr_expect_eq(budget.left, 3 + 4 + 19 + 4 * 50);
    cr_expect_not(budget.spent);
    cr_expect(clp_tallies_afford(&budget, 0, 10));
    for (int i = 0; i < 9; i++)
        cr_expect(clp_tallies_afford(&budget, 1000000, 10));
    cr_expect_eq(budget.left, 400);
}
