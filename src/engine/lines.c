/* SPDX-License-Identifier: MIT */
#include "lines.h"
#include <string.h>

#define CHUNK_BYTES ((size_t)256 * 1024)

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
    chunk->address = (uintptr_t)chunk;
    __atomic_store_n(&chunk->kind, (uint32_t)CLP_CHUNK_AREAS, __ATOMIC_RELEASE);
    pool->chunks = chunk;
    pool->free_bytes = (char *)(chunk + 1);
    pool->free_count = mapped - sizeof *chunk;
    return true;
}

static unsigned class_of(size_t bytes)
{
    unsigned class = CLP_POOL_LEAST_CLASS;

    while (class < CLP_POOL_CLASSES - 1 && ((size_t)1 << class) < bytes)
        class++;
    return class;
}

/* Where a free area keeps its link to the next free area of its size. */
static void **next_free(void *area)
{
    return (void **)((struct clp_area *)area + 1);
}

static void *take_recycled(struct clp_pool *pool, unsigned class, size_t bytes)
{
    void *area = pool->recycled[class];

    if (area == NULL)
        return NULL;
    pool->recycled[class] = *next_free(area);
    memset((struct clp_area *)area + 1, 0, bytes - sizeof(struct clp_area));
    return area;
}

void *clp_pool_take(struct clp_pool *pool, size_t bytes)
{
    unsigned class = class_of(bytes);
    size_t rounded = (size_t)1 << class;
    struct clp_area *area = take_recycled(pool, class, bytes);

    if (area != NULL)
        return area;
    if (rounded < bytes || (pool->free_count < rounded && !add_chunk(pool, rounded)))
        return NULL;
    area = (struct clp_area *)pool->free_bytes;
    pool->free_bytes += rounded;
    pool->free_count -= rounded;
    area->class = class;
    clp_area_set_kind(area, CLP_AREA_FREE);
    return area;
}

void clp_pool_give(struct clp_pool *pool, void *area)
{
    unsigned class = ((struct clp_area *)area)->class;

    clp_area_set_kind(area, CLP_AREA_FREE);
    *next_free(area) = pool->recycled[class];
    pool->recycled[class] = area;
}

size_t clp_block_bytes(uint32_t line_count, uint32_t parts)
{
    size_t bytes = sizeof(struct clp_block) + line_count * CLP_BLOCK_LINE_BYTES;

    if (parts & CLP_PART_MEMORY)
        bytes += line_count * (sizeof(struct clp_rss_cell) + sizeof(struct clp_heap_cell));
    if (parts & CLP_PART_TALLIES)
        bytes += line_count * sizeof(struct clp_tally_cell);
    if (parts & CLP_PART_CALLED)
        bytes += line_count * sizeof(struct clp_called_cell);
    if (parts & CLP_PART_DEVICES)
        bytes += line_count * sizeof(struct clp_device_cell);
    if (parts & CLP_PART_LIGHT)
        bytes += line_count * sizeof(struct clp_light_cell);
    return bytes;
}

void clp_block_place_parts(struct clp_block *block)
{
    void *at = clp_block_cpu(block) + block->line_count;

    block->rss = NULL;
    block->heap = NULL;
    if (block->parts & CLP_PART_MEMORY) {
        block->rss = at;
        block->heap = at = block->rss + block->line_count;
        at = block->heap + block->line_count;
    }
    block->tallies = block->parts & CLP_PART_TALLIES ? at : NULL;
    if (block->tallies != NULL)
        at = block->tallies + block->line_count;
    block->called = block->parts & CLP_PART_CALLED ? at : NULL;
    if (block->called != NULL)
        at = block->called + block->line_count;
    block->devices = block->parts & CLP_PART_DEVICES ? at : NULL;
    if (block->devices != NULL)
        at = block->devices + block->line_count;
    block->light = block->parts & CLP_PART_LIGHT ? at : NULL;
}

struct clp_block *clp_block_new(struct clp_pool *pool, const struct clp_function *function,
                                uint32_t number, uint32_t parts)
{
    struct clp_block *block = clp_pool_take(pool, clp_block_bytes(function->line_count, parts));

    if (block == NULL)
        return NULL;
    block->function = number;
    block->lowest_line = function->lowest_line;
    block->line_count = function->line_count;
    block->map = function->map;
    block->parts = parts;
    clp_block_place_parts(block);
    clp_area_set_kind(&block->area, CLP_AREA_BLOCK);
    return block;
}

void clp_block_free(struct clp_pool *pool, struct clp_block *block)
{
    clp_pool_give(pool, block);
}

static int64_t magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

static void merge_largest(struct clp_cell *into, const struct clp_cell *from)
{
    if (from->max > into->max)
        into->max = from->max;
    if (from->usage > into->usage)
        into->usage = from->usage;
}

static void merge_largest_change(struct clp_rss_cell *into, const struct clp_rss_cell *from)
{
    if (magnitude(from->largest) > magnitude(into->largest))
        into->largest = from->largest;
}

static void merge_cell(struct clp_cell *into, const struct clp_cell *from)
{
    into->hits += from->hits;
    into->self += from->self;
    into->nested += from->nested;
    into->self_correction += from->self_correction;
    into->nested_correction += from->nested_correction;
    into->await += from->await;
    merge_largest(into, from);
}

static void merge_cpu(struct clp_cpu_cell *into, const struct clp_cpu_cell *from)
{
    into->wait += from->wait;
    into->queue += from->queue;
    into->gc_wait += from->gc_wait;
    into->gc_queue += from->gc_queue;
}

static void merge_rss(struct clp_rss_cell *into, const struct clp_rss_cell *from)
{
    into->grown += from->grown;
    into->released += from->released;
    into->self_increment += from->self_increment;
    merge_largest_change(into, from);
}

static void merge_heap(struct clp_heap_cell *into, const struct clp_heap_cell *from)
{
    into->allocated += from->allocated;
    into->blocks += from->blocks;
}

static void merge_most(struct clp_tally_cell *into, const struct clp_tally_cell *from)
{
    for (size_t i = 0; i < CLP_TALLY_COUNTERS; i++)
        if (from->most[i] > into->most[i])
            into->most[i] = from->most[i];
}

static void merge_tallies(struct clp_tally_cell *into, const struct clp_tally_cell *from)
{
    for (size_t i = 0; i < CLP_TALLIES; i++)
        into->sums[i] += from->sums[i];
    merge_most(into, from);
}

static void merge_peaks(struct clp_device_cell *into, const struct clp_device_cell *from)
{
    for (size_t i = 0; i < CLP_DEVICES; i++)
        if (from->tensors[i].peak > into->tensors[i].peak)
            into->tensors[i].peak = from->tensors[i].peak;
}

static void merge_devices(struct clp_device_cell *into, const struct clp_device_cell *from)
{
    for (size_t i = 0; i < CLP_DEVICES; i++) {
        into->tensors[i].allocated += from->tensors[i].allocated;
        into->tensors[i].freed += from->tensors[i].freed;
        into->tensors[i].reserved += from->tensors[i].reserved;
    }
    into->time += from->time;
    into->wait += from->wait;
    into->launches += from->launches;
    merge_peaks(into, from);
}

void clp_block_merge(struct clp_block *into, const struct clp_block *from)
{
    into->total += from->total;
    into->total_correction += from->total_correction;
    for (uint32_t i = 0; i < into->line_count; i++) {
        merge_cell(&into->cells[i], &from->cells[i]);
        clp_gc_add(&clp_block_gc(into)[i], clp_block_gc(from)[i]);
        merge_cpu(&clp_block_cpu(into)[i], &clp_block_cpu(from)[i]);
        if (into->rss != NULL && from->rss != NULL)
            merge_rss(&into->rss[i], &from->rss[i]);
        if (into->heap != NULL && from->heap != NULL)
            merge_heap(&into->heap[i], &from->heap[i]);
        if (into->tallies != NULL && from->tallies != NULL)
            merge_tallies(&into->tallies[i], &from->tallies[i]);
        if (into->called != NULL && from->called != NULL)
            clp_called_merge(&into->called[i], &from->called[i]);
        if (into->devices != NULL && from->devices != NULL)
            merge_devices(&into->devices[i], &from->devices[i]);
        if (into->light != NULL && from->light != NULL)
            into->light[i].squares += from->light[i].squares;
    }
}

static void subtract_cell(struct clp_cell *from, const struct clp_cell *base)
{
    from->hits -= base->hits;
    from->self -= base->self;
    from->nested -= base->nested;
    from->self_correction -= base->self_correction;
    from->nested_correction -= base->nested_correction;
    from->await -= base->await;
}

static void subtract_cpu(struct clp_cpu_cell *from, const struct clp_cpu_cell *base)
{
    from->wait -= base->wait;
    from->queue -= base->queue;
    from->gc_wait -= base->gc_wait;
    from->gc_queue -= base->gc_queue;
}

static void subtract_rss(struct clp_rss_cell *from, const struct clp_rss_cell *base)
{
    from->grown -= base->grown;
    from->released -= base->released;
    from->self_increment -= base->self_increment;
}

static void subtract_heap(struct clp_heap_cell *from, const struct clp_heap_cell *base)
{
    from->allocated -= base->allocated;
    from->blocks -= base->blocks;
}

static void subtract_tallies(struct clp_tally_cell *from, const struct clp_tally_cell *base)
{
    for (size_t i = 0; i < CLP_TALLIES; i++)
        from->sums[i] -= base->sums[i];
}

static void subtract_devices(struct clp_device_cell *from, const struct clp_device_cell *base)
{
    for (size_t i = 0; i < CLP_DEVICES; i++) {
        from->tensors[i].allocated -= base->tensors[i].allocated;
        from->tensors[i].freed -= base->tensors[i].freed;
        from->tensors[i].reserved -= base->tensors[i].reserved;
    }
    from->time -= base->time;
    from->wait -= base->wait;
    from->launches -= base->launches;
}

void clp_block_subtract(struct clp_block *from, const struct clp_block *base)
{
    from->total -= base->total;
    from->total_correction -= base->total_correction;
    for (uint32_t i = 0; i < from->line_count; i++) {
        subtract_cell(&from->cells[i], &base->cells[i]);
        clp_gc_subtract(&clp_block_gc(from)[i], clp_block_gc(base)[i]);
        subtract_cpu(&clp_block_cpu(from)[i], &clp_block_cpu(base)[i]);
        if (from->rss != NULL && base->rss != NULL)
            subtract_rss(&from->rss[i], &base->rss[i]);
        if (from->heap != NULL && base->heap != NULL)
            subtract_heap(&from->heap[i], &base->heap[i]);
        if (from->tallies != NULL && base->tallies != NULL)
            subtract_tallies(&from->tallies[i], &base->tallies[i]);
        if (from->called != NULL && base->called != NULL)
            clp_called_subtract(&from->called[i], &base->called[i]);
        if (from->devices != NULL && base->devices != NULL)
            subtract_devices(&from->devices[i], &base->devices[i]);
        if (from->light != NULL && base->light != NULL)
            from->light[i].squares -= base->light[i].squares;
    }
}

void clp_block_forget_largest(struct clp_block *block)
{
    for (uint32_t i = 0; i < block->line_count; i++) {
        block->cells[i].max = 0;
        block->cells[i].usage = 0;
        if (block->rss != NULL)
            block->rss[i].largest = 0;
        if (block->tallies != NULL)
            memset(block->tallies[i].most, 0, sizeof block->tallies[i].most);
        for (size_t j = 0; block->devices != NULL && j < CLP_DEVICES; j++)
            block->devices[i].tensors[j].peak = 0;
    }
}

void clp_block_merge_largest(struct clp_block *into, const struct clp_block *from)
{
    for (uint32_t i = 0; i < into->line_count; i++) {
        merge_largest(&into->cells[i], &from->cells[i]);
        if (into->rss != NULL && from->rss != NULL)
            merge_largest_change(&into->rss[i], &from->rss[i]);
        if (into->tallies != NULL && from->tallies != NULL)
            merge_most(&into->tallies[i], &from->tallies[i]);
        if (into->devices != NULL && from->devices != NULL)
            merge_peaks(&into->devices[i], &from->devices[i]);
    }
}
