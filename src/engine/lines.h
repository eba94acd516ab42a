/* SPDX-License-Identifier: MIT */
/* The counters: a block per thread and function, in it a cell per line. A line finds its cell by
 * subtraction; nothing is hashed or searched per hit.
 *
 *   block ---> struct clp_block     what belongs to the function as a whole
 *              cells[line_count]    time: one cache line each
 *              rss[line_count]      memory, only when it is measured
 *              heap[line_count]     what was allocated, likewise
 *
 * Blocks never move and come zeroed from chunks of mapped pages; a block given back is kept for
 * the next of its size.
 *
 * The pool serves whatever else must be readable when the process is gone: threads and their
 * stacks. Chunks may be pieces of a file, so both they and what lies in them say what they are:
 * a reader walks a chunk from one area to the next.
 *
 *   chunk ---> struct clp_chunk  area  area  area ..  zeroes
 *              area: struct clp_area, what it holds, up to 2^class bytes
 */
#ifndef CLP_LINES_H
#define CLP_LINES_H

#include "functions.h"
#include "os/pages.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Times are clock ticks as the clock saw them; corrections are 1/256 ticks and still to be taken
 * off: on the sum, because clamping each execution at zero would bias it.
 *
 * Most executions of a line call nothing that is selected. For those, inclusive and self time are
 * one number, and the correction is that of one line event; so the cell counts self time and hits,
 * and only what differs from them is kept beside (clp_cell_time and the others put it together). */
struct clp_cell {
    uint64_t hits;
    uint32_t open;  /* selected callees entered from this line and not yet left */
    uint32_t usage; /* the largest resident size seen after it, in CLP_USAGE_UNIT bytes */
    uint64_t self;
    int64_t nested;            /* inclusive time less self time */
    int64_t self_correction;   /* beyond one line event per hit */
    int64_t nested_correction; /* that of the inclusive time less that of the self time */
    int64_t max;               /* longest single execution, correction already off */
    uint64_t await;
};

#define CLP_USAGE_UNIT 4096

/* Bytes. */
struct clp_rss_cell {
    int64_t grown, released;
    int64_t self_increment;
    int64_t largest; /* single change, by magnitude */
};

/* What a line allocated, in bytes and blocks; one that was resized counts anew. The allocator's hooks
 * add to it, so the cell of a line lies as far into these as a quarter of that in `cells`. */
struct clp_heap_cell {
    uint64_t allocated, blocks;
};

enum clp_area_kind {
    CLP_AREA_NONE, /* never used; nothing behind it in the chunk is */
    CLP_AREA_FREE,
    CLP_AREA_BLOCK,
    CLP_AREA_THREAD,
    CLP_AREA_STACK,
    CLP_AREA_BASE /* a block: what the counters of a function held before they were this run's */
};

/* The start of everything that the pool gives. */
struct clp_area {
    uint32_t kind;
    uint32_t class; /* it takes 2^class bytes */
};

enum clp_chunk_kind { CLP_CHUNK_AREAS = 1, CLP_CHUNK_RECORDS, CLP_CHUNK_HISTORY };

/* The head of every chunk; its contents follow. */
struct clp_chunk {
    struct clp_chunk *next;
    size_t mapped;    /* head and contents, whole pages */
    uint64_t address; /* where it is mapped: what pointers to it in the file count from */
    uint64_t used;    /* of records: bytes behind the head that are complete */
    uint32_t kind;    /* written last */
    char pad[28];     /* contents start on a cache line */
};

struct clp_block {
    struct clp_area area;
    uint32_t function;
    int32_t lowest_line; /* the line of cells[0] */
    uint32_t line_count;
    uint32_t running; /* activations of the function on this thread's stack */
    uint64_t total;
    int64_t total_correction;
    struct clp_rss_cell *rss; /* NULL when memory is not measured */
    void *latest;             /* the engine's: its record of the body that resumed here last */
    struct clp_heap_cell *heap; /* NULL when memory is not measured */
    _Alignas(64) struct clp_cell cells[];
};

/* Where the cell of a line lies in a block, in bytes; and the cell there. */
static inline size_t clp_block_place(uint32_t index)
{
    return offsetof(struct clp_block, cells) + index * sizeof(struct clp_cell);
}

static inline struct clp_cell *clp_block_cell(struct clp_block *block, size_t place)
{
    return (struct clp_cell *)((char *)block + place);
}

/* What the line of that cell allocated; block->heap is there. */
static inline struct clp_heap_cell *clp_block_heap(const struct clp_block *block,
                                                   const struct clp_cell *cell)
{
    _Static_assert(sizeof(struct clp_cell) == 4 * sizeof(struct clp_heap_cell), "a quarter");
    size_t place = (size_t)((const char *)cell - (const char *)block->cells);

    return (struct clp_heap_cell *)((char *)block->heap + place / 4);
}

/* Raw inclusive ticks of a line, and the correction of its self time; line_cost is that of one line
 * event, in 1/256 ticks. No integer: a damaged file's would not always fit. */
static inline uint64_t clp_cell_time(const struct clp_cell *cell)
{
    return cell->self + (uint64_t)cell->nested;
}

static inline double clp_cell_self_correction(const struct clp_cell *cell, int64_t line_cost)
{
    return (double)cell->hits * (double)line_cost + (double)cell->self_correction;
}

#define CLP_POOL_LEAST_CLASS 6
#define CLP_POOL_CLASSES 40

struct clp_pool {
    struct clp_pages *pages; /* borrowed */
    struct clp_chunk *chunks;
    char *free_bytes; /* the rest of the newest chunk */
    size_t free_count;
    void *recycled[CLP_POOL_CLASSES]; /* by size, 2^n bytes */
};

void clp_pool_init(struct clp_pool *pool, struct clp_pages *pages);

/* Gives every chunk back to the system; all blocks are gone. */
void clp_pool_clear(struct clp_pool *pool);

/* At least `bytes` bytes, those of its struct clp_area counted; zeroed but for that, which says
 * CLP_AREA_FREE until clp_area_set_kind; NULL when there is no memory. */
void *clp_pool_take(struct clp_pool *pool, size_t bytes);
void clp_pool_give(struct clp_pool *pool, void *area);

/* What the area holds, when it is complete. */
static inline void clp_area_set_kind(struct clp_area *area, enum clp_area_kind kind)
{
    __atomic_store_n(&area->kind, (uint32_t)kind, __ATOMIC_RELEASE);
}

/* Bytes of a block. */
size_t clp_block_bytes(uint32_t line_count, bool with_rss);

/* A zeroed block for this function, the one with that number; NULL when there is no memory. */
struct clp_block *clp_block_new(struct clp_pool *pool, const struct clp_function *function,
                                uint32_t number, bool with_rss);
void clp_block_free(struct clp_pool *pool, struct clp_block *block);

/* Adds the counters of `from` to `into`, a block of the same function. */
void clp_block_merge(struct clp_block *into, const struct clp_block *from);

/* Takes off what is summed; largest values stay as they are. */
void clp_block_subtract(struct clp_block *from, const struct clp_block *base);

/* Largest values begin anew. */
void clp_block_forget_largest(struct clp_block *block);

/* Adds the largest values of `from`, and nothing else, to those of `into`. */
void clp_block_merge_largest(struct clp_block *into, const struct clp_block *from);

/* Points block->rss and block->heap to where they lie in it, or nowhere. */
void clp_block_place_memory(struct clp_block *block, bool with_rss);

#endif
