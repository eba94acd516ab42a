/* SPDX-License-Identifier: MIT */
#include "lines.h"
#include <string.h>

#define CHUNK_BYTES ((size_t)256 * 1024)

/* The head of every mapped chunk; blocks follow it. */
struct clp_chunk {
    struct clp_chunk *next;
    size_t mapped;
    char pad[48]; /* so that blocks start on a cache line */
};

_Static_assert(sizeof(struct clp_cell) == 64, "a cell fills one cache line");
_Static_assert(sizeof(struct clp_chunk) == 64, "blocks start on a cache line");

void clp_pool_init(struct clp_pool *pool, struct clp_pages *pages)
{
    *pool = (struct clp_pool){.pages = pages};
}

void clp_pool_clear(struct clp_pool *pool)
{
    struct clp_chunk *next;

    for (struct clp_chunk *chunk = pool->chunks; chunk != NULL; chunk = next) {
        next = chunk->next;
        clp_pages_unmap(pool->pages, chunk, chunk->mapped);
    }
    clp_pool_init(pool, pool->pages);
}

static bool add_chunk(struct clp_pool *pool, size_t bytes)
{
    size_t wanted = bytes + sizeof(struct clp_chunk);
    size_t mapped;
    struct clp_chunk *chunk =
        clp_pages_map(pool->pages, wanted > CHUNK_BYTES ? wanted : CHUNK_BYTES, &mapped);

    if (chunk == NULL)
        return false;
    chunk->next = pool->chunks;
    chunk->mapped = mapped;
    pool->chunks = chunk;
    pool->free_bytes = (char *)(chunk + 1);
    pool->free_count = mapped - sizeof *chunk;
    return true;
}

static unsigned class_of(size_t bytes)
{
    unsigned class = 6;

    while (class < CLP_POOL_CLASSES - 1 && ((size_t)1 << class) < bytes)
        class++;
    return class;
}

static void *take(struct clp_pool *pool, size_t bytes)
{
    unsigned class = class_of(bytes);
    size_t rounded = (size_t)1 << class;
    void *block = pool->recycled[class];

    if (block != NULL) {
        pool->recycled[class] = *(void **)block;
        memset(block, 0, bytes);
        return block;
    }
    if (pool->free_count < rounded && !add_chunk(pool, rounded))
        return NULL;
    block = pool->free_bytes;
    pool->free_bytes += rounded;
    pool->free_count -= rounded;
    return block;
}

static size_t block_bytes(uint32_t line_count, bool with_rss)
{
    size_t bytes = sizeof(struct clp_block) + line_count * sizeof(struct clp_cell);

    return with_rss ? bytes + line_count * sizeof(struct clp_rss_cell) : bytes;
}

struct clp_block *clp_block_new(struct clp_pool *pool, const struct clp_function *function,
                                uint32_t number, bool with_rss)
{
    struct clp_block *block = take(pool, block_bytes(function->line_count, with_rss));

    if (block == NULL)
        return NULL;
    block->function = number;
    block->lowest_line = function->lowest_line;
    block->line_count = function->line_count;
    if (with_rss)
        block->rss = (struct clp_rss_cell *)(block->cells + block->line_count);
    return block;
}

void clp_block_free(struct clp_pool *pool, struct clp_block *block)
{
    unsigned class = class_of(block_bytes(block->line_count, block->rss != NULL));

    *(void **)block = pool->recycled[class];
    pool->recycled[class] = block;
}

static void merge_cell(struct clp_cell *into, const struct clp_cell *from)
{
    into->hits += from->hits;
    into->self += from->self;
    into->nested += from->nested;
    into->self_correction += from->self_correction;
    into->nested_correction += from->nested_correction;
    into->await += from->await;
    if (from->max > into->max)
        into->max = from->max;
    if (from->usage > into->usage)
        into->usage = from->usage;
}

static int64_t magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

static void merge_rss(struct clp_rss_cell *into, const struct clp_rss_cell *from)
{
    into->grown += from->grown;
    into->released += from->released;
    into->self_increment += from->self_increment;
    if (magnitude(from->largest) > magnitude(into->largest))
        into->largest = from->largest;
}

void clp_block_merge(struct clp_block *into, const struct clp_block *from)
{
    into->total += from->total;
    into->total_correction += from->total_correction;
    for (uint32_t i = 0; i < into->line_count; i++) {
        merge_cell(&into->cells[i], &from->cells[i]);
        if (into->rss != NULL && from->rss != NULL)
            merge_rss(&into->rss[i], &from->rss[i]);
    }
}
