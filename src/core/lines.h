/* SPDX-License-Identifier: MIT */
/* The counters: a block per thread and function, in it a cell per line. A line finds its cell by
 * subtraction; nothing is hashed or searched per hit.
 *
 *   block ---> struct clp_block     what belongs to the function as a whole
 *              cells[line_count]    time: one cache line each
 *              rss[line_count]      memory, only when it is measured
 *
 * Blocks never move and come zeroed from chunks of mapped pages; a block given back is kept for
 * the next of its size. */
#ifndef CLP_LINES_H
#define CLP_LINES_H

#include "functions.h"
#include "pages.h"
#include "status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Times are clock ticks, raw; corrections are 1/256 ticks and still to be taken off: on the sum,
 * because clamping each execution at zero would bias it. */
struct clp_cell {
    uint64_t hits;
    uint64_t open; /* selected callees entered from this line and not yet left */
    uint64_t time, time_correction;
    uint64_t self, self_correction;
    uint64_t max; /* longest single execution, correction already off */
    uint64_t await;
};

/* Bytes. */
struct clp_rss_cell {
    int64_t usage; /* the largest resident size seen after the line */
    int64_t grown, released;
    int64_t self_increment;
    int64_t largest; /* single change, by magnitude */
};

struct clp_block {
    uint32_t function;
    int32_t lowest_line; /* the line of cells[0] */
    uint32_t line_count;
    uint64_t running; /* activations of the function on this thread's stack */
    uint64_t total, total_correction;
    struct clp_rss_cell *rss; /* NULL when memory is not measured */
    _Alignas(64) struct clp_cell cells[];
};

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

/* A zeroed block for this function, the one with that number; NULL when there is no memory. */
struct clp_block *clp_block_new(struct clp_pool *pool, const struct clp_function *function,
                                uint32_t number, bool with_rss);
void clp_block_free(struct clp_pool *pool, struct clp_block *block);

/* Adds the counters of `from` to `into`, a block of the same function. */
void clp_block_merge(struct clp_block *into, const struct clp_block *from);

#endif
