/* SPDX-License-Identifier: MIT */
#include "engine/lines.h"
#include <criterion/criterion.h>
#include <string.h>

static struct clp_function with_lines(uint32_t count)
{
    return (struct clp_function){.first_line = 9, .lowest_line = 10, .line_count = count};
}

static struct clp_block *new_block(struct clp_pool *pool, uint32_t line_count, uint32_t parts)
{
    struct clp_function function = with_lines(line_count);
    struct clp_block *block = clp_block_new(pool, &function, line_count, parts);

    cr_assert_not_null(block);
    return block;
}

static size_t bytes_of(const struct clp_block *block, uint32_t parts)
{
    size_t line = sizeof(struct clp_cell) + sizeof(struct clp_gc_cell) + sizeof(struct clp_cpu_cell);

    line += parts & CLP_PART_MEMORY ? sizeof(struct clp_rss_cell) + sizeof(struct clp_heap_cell) : 0;
    line += parts & CLP_PART_TALLIES ? sizeof(struct clp_tally_cell) : 0;
    return sizeof *block + block->line_count * line;
}

static void check_new(const struct clp_block *block, uint32_t line_count, uint32_t parts)
{
    const unsigned char *at = (const unsigned char *)block->cells;
    size_t bytes = bytes_of(block, parts) - sizeof *block;

    cr_assert_eq((uintptr_t)block % 64, 0, "a block does not start on a cache line");
    cr_assert_eq((uintptr_t)block->cells % 64, 0);
    cr_assert_eq(block->function, line_count);
    cr_assert_eq(block->lowest_line, 10);
    cr_assert_eq(block->line_count, line_count);
    cr_assert_eq(block->running, 0);
    cr_assert_eq(block->total, 0);
    cr_assert_eq(block->total_correction, 0);
    cr_assert_eq(block->rss != NULL, (parts & CLP_PART_MEMORY) != 0);
    cr_assert_eq(block->tallies != NULL, (parts & CLP_PART_TALLIES) != 0);
    for (size_t i = 0; i < bytes; i++)
        cr_assert_eq(at[i], 0, "byte %zu of the cells is not 0", i);
}

/* Everything but what clp_block_free needs, so that leftovers and overlaps show. */
static void fill(struct clp_block *block, uint32_t parts, unsigned char value)
{
    block->running = value;
    block->total = value;
    block->total_correction = value;
    memset(block->cells, value, bytes_of(block, parts) - sizeof *block);
}

static bool is_filled(const struct clp_block *block, uint32_t parts, unsigned char value)
{
    const unsigned char *at = (const unsigned char *)block->cells;
    bool same = block->running == value && block->total == value;

    for (size_t i = 0; same && i < bytes_of(block, parts) - sizeof *block; i++)
        same = at[i] == value;
    return same;
}

Test(lines, blocks_are_aligned_zeroed_and_apart)
{
    enum { COUNT = 200 };
    struct clp_pages pages = {0};
    struct clp_pool pool;
    struct clp_block *blocks[COUNT];

    clp_pool_init(&pool, &pages);
    for (uint32_t i = 0; i < COUNT; i++) {
        blocks[i] = new_block(&pool, 1 + i * 7 % 97, i % 4);
        check_new(blocks[i], 1 + i * 7 % 97, i % 4);
        fill(blocks[i], i % 4, (unsigned char)(i + 1));
    }
    for (uint32_t i = 0; i < COUNT; i++)
        cr_assert(is_filled(blocks[i], i % 4, (unsigned char)(i + 1)), "block %u", i);
    clp_pool_clear(&pool);
    cr_assert_eq(pages.bytes, 0);
}

Test(lines, a_block_may_have_no_line_or_very_many)
{
    struct clp_pages pages = {0};
    struct clp_pool pool;

    clp_pool_init(&pool, &pages);
    check_new(new_block(&pool, 0, true), 0, true);
    check_new(new_block(&pool, 100000, true), 100000, true);
    check_new(new_block(&pool, 1, false), 1, false);
    clp_pool_clear(&pool);
    cr_assert_eq(pages.bytes, 0);
}

Test(lines, a_block_given_back_comes_again_zeroed)
{
    struct clp_pages pages = {0};
    struct clp_pool pool;

    clp_pool_init(&pool, &pages);
    for (uint32_t lines = 1; lines < 60; lines++) {
        struct clp_block *block = new_block(&pool, lines, lines % 2 == 0);
        fill(block, lines % 2 == 0, 0xff);
        clp_block_free(&pool, block);
        block = new_block(&pool, lines, lines % 2 != 0);
        check_new(block, lines, lines % 2 != 0);
        fill(block, lines % 2 != 0, 0xff);
        clp_block_free(&pool, block);
    }
    clp_pool_clear(&pool);
    cr_assert_eq(pages.bytes, 0);
}

Test(lines, giving_back_and_taking_maps_nothing_new)
{
    struct clp_pages pages = {0};
    struct clp_pool pool;
    struct clp_block *kept[8];

    clp_pool_init(&pool, &pages);
    for (uint32_t i = 0; i < 8; i++)
        kept[i] = new_block(&pool, 1u << i, true);
    uint64_t bytes = pages.bytes;
    for (uint32_t i = 0; i < 10000; i++) {
        clp_block_free(&pool, kept[i % 8]);
        kept[i % 8] = new_block(&pool, 1u << (i % 8), true);
    }
    cr_assert_eq(pages.bytes, bytes);
    clp_pool_clear(&pool);
    cr_assert_eq(pages.bytes, 0);
}

static void set_cell(struct clp_cell *cell, uint64_t base)
{
    cell->hits = base + 1;
    cell->usage = (uint32_t)base + 2;
    cell->self = base + 3;
    cell->nested = -(int64_t)(base + 4);
    cell->self_correction = (int64_t)base + 5;
    cell->nested_correction = -(int64_t)(base + 6);
    cell->max = (int64_t)base + 7;
    cell->await = base + 8;
}

Test(lines, merging_adds_or_takes_the_larger)
{
    struct clp_pages pages = {0};
    struct clp_pool pool;

    clp_pool_init(&pool, &pages);
    struct clp_block *into = new_block(&pool, 2, true), *from = new_block(&pool, 2, true);
    into->total = 5, into->total_correction = 6, into->running = 7;
    from->total = 50, from->total_correction = 60, from->running = 70;
    set_cell(&into->cells[1], 100);
    set_cell(&from->cells[1], 1000);
    from->cells[1].open = 3;
    into->cells[0].max = into->cells[0].usage = 9;
    into->rss[1] = (struct clp_rss_cell){1, 2, -3, 10};
    from->rss[1] = (struct clp_rss_cell){10, 20, -30, -11};
    into->rss[0].largest = -9;
    into->heap[1] = (struct clp_heap_cell){100, 2};
    from->heap[1] = (struct clp_heap_cell){10, 1};
    clp_block_gc(into)[1] = (struct clp_gc_cell){7, 2};
    clp_block_gc(from)[1] = (struct clp_gc_cell){70, 20};
    from->rss[0].largest = 8;

    clp_block_merge(into, from);
    cr_assert_eq(into->total, 55);
    cr_assert_eq(into->total_correction, 66);
    cr_assert_eq(into->running, 7, "what runs in one thread does not run in the other");
    cr_assert_eq(into->cells[1].open, 0);
    cr_assert_eq(into->cells[1].hits, 1102);
    cr_assert_eq(into->cells[1].usage, 1002);
    cr_assert_eq(into->cells[1].self, 1106);
    cr_assert_eq(into->cells[1].nested, -1108);
    cr_assert_eq(into->cells[1].self_correction, 1110);
    cr_assert_eq(into->cells[1].nested_correction, -1112);
    cr_assert_eq(into->cells[1].max, 1007);
    cr_assert_eq(into->cells[1].await, 1116);
    cr_assert_eq(into->cells[0].max, 9);
    cr_assert_eq(into->cells[0].usage, 9);
    cr_assert_eq(into->cells[0].hits, 0);
    cr_assert_eq(into->rss[1].grown, 11);
    cr_assert_eq(into->rss[1].released, 22);
    cr_assert_eq(into->rss[1].self_increment, -33);
    cr_assert_eq(into->rss[1].largest, -11, "further from 0");
    cr_assert_eq(into->rss[0].largest, -9);
    cr_assert_eq(into->heap[1].allocated, 110);
    cr_assert_eq(into->heap[1].blocks, 3);
    cr_assert_eq(clp_block_heap(into, &into->cells[1]), &into->heap[1]);
    cr_assert_eq(clp_block_gc(into)[1].ticks, 77);
    cr_assert_eq(clp_block_gc(into)[1].runs, 22);
    clp_block_subtract(into, from);
    cr_assert_eq(clp_block_gc(into)[1].ticks, 7);
    cr_assert_eq(clp_block_gc(into)[1].runs, 2);
    cr_assert_eq(clp_block_gc(into)[0].runs, 0);
    clp_pool_clear(&pool);
}

Test(lines, merging_where_one_has_no_memory)
{
    struct clp_pages pages = {0};
    struct clp_pool pool;

    clp_pool_init(&pool, &pages);
    struct clp_block *with = new_block(&pool, 1, true), *without = new_block(&pool, 1, false);
    with->rss[0].grown = 5;
    without->cells[0].hits = 2;
    clp_block_merge(with, without);
    clp_block_merge(without, with);
    cr_assert_eq(with->cells[0].hits, 2);
    cr_assert_eq(without->cells[0].hits, 4);
    cr_assert_eq(with->rss[0].grown, 5);
    clp_pool_clear(&pool);
}

Test(lines, squares_of_errors_add_up)
{
    struct clp_pages pages = {0};
    struct clp_pool pool;

    clp_pool_init(&pool, &pages);
    struct clp_block *into = new_block(&pool, 2, CLP_PARTS_ALL), *from = new_block(&pool, 2, CLP_PART_LIGHT);
    struct clp_block *exact = new_block(&pool, 2, 0);
    into->light[1].squares = 9;
    from->light[1].squares = 16;
    clp_block_merge(into, from);
    clp_block_merge(into, exact);
    clp_block_merge(exact, into);
    cr_assert_eq(into->light[1].squares, 25);
    cr_assert_eq(into->light[0].squares, 0);
    clp_block_subtract(into, from);
    cr_assert_eq(into->light[1].squares, 9);
    cr_assert_null(exact->light);
    clp_pool_clear(&pool);
}

Test(lines, a_cells_times_and_corrections_are_put_together)
{
    struct clp_cell cell = {.hits = 3, .self = 100, .nested = 40, .self_correction = 7,
                            .nested_correction = -2};

    cr_assert_eq(clp_cell_time(&cell), 140);
    cr_assert_eq(clp_cell_self_correction(&cell, 10), 37);
    cell.nested = -100;
    cr_assert_eq(clp_cell_time(&cell), 0);
}
