/* SPDX-License-Identifier: MIT */
/* The counters: a block per thread and function, and in the block a cell per line on which code stands. A line
 * finds its cell in a table (line_map.h); nothing is hashed or searched per hit.
 *
 *   block ---> struct clp_block     what belongs to the function as a whole
 *              cells[line_count]    time: one cache line each
 *              gc[line_count]       garbage collections (garbage.h)
 *              cpu[line_count]      waiting (waiting.h)
 *              rss[line_count]      memory          CLP_PART_MEMORY
 *              heap[line_count]     what was allocated, with it
 *              tallies[line_count]  tallies         CLP_PART_TALLIES
 *              called[line_count]   callees (called.h)  CLP_PART_CALLED
 *              devices[line_count]  tensors and devices (devices.h)  CLP_PART_DEVICES
 *              light[line_count]    errors of estimated times  CLP_PART_LIGHT
 *
 * The last ones are there only in blocks that were made when something was to be counted in them.
 *
 * Blocks never move. They come zeroed from chunks of mapped pages. A block that is given back is kept for the
 * next request of its size.
 *
 * The pool also gives the memory of threads and their stacks, because they, too, must be readable when the
 * process is dead. A chunk may be a piece of a file. So each chunk says what it is, and each area in it says
 * what it holds: a reader walks through a chunk from one area to the next.
 *
 *   chunk ---> struct clp_chunk  area  area  area ..  zeroes
 *              area: struct clp_area, what it holds, up to 2^class bytes */
#ifndef CLP_LINES_H
#define CLP_LINES_H

#include "called_cells.h"
#include "functions.h"
#include "os/pages.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The counters of a line. Times are ticks as the clock saw them. Corrections are 1/256 ticks that are still to
 * be subtracted. They are subtracted from the sum, because clamping each execution at zero would bias it.
 *
 * Most executions of a line call nothing that is selected. For such an execution inclusive time and self time
 * are one number, and the correction is that of one line event. So the cell counts hits and self time, and
 * keeps only what differs from them. clp_cell_time and clp_cell_self_correction put the numbers together. */
struct clp_cell {
    uint64_t hits;
    uint32_t open;  /* selected callees that were entered from this line and not yet left */
    uint32_t usage; /* the largest resident size seen after the line, in CLP_USAGE_UNIT bytes */
    uint64_t self;
    int64_t nested;            /* inclusive time less self time */
    int64_t self_correction;   /* correction of the self time beyond one line event per hit */
    int64_t nested_correction; /* correction of the inclusive time less that of the self time */
    int64_t max;               /* longest single execution, its correction already subtracted */
    uint64_t await; /* ticks */
};

#define CLP_USAGE_UNIT 4096

/* Changes of resident memory by a line, in bytes. */
struct clp_rss_cell {
    int64_t grown, released;
    int64_t self_increment;
    int64_t largest; /* largest single change, by magnitude, with its sign */
};

/* Garbage collections that ran while a line did (garbage.h). */
struct clp_gc_cell {
    uint64_t ticks; /* part of the line's self time */
    uint64_t runs;
};

/* How long a line did not have the processor (waiting.h). Ticks, part of the line's self time. */
struct clp_cpu_cell {
    uint64_t wait;
    uint64_t queue; /* the part of `wait` in which the thread could run, but had no processor */
    uint64_t gc_wait, gc_queue; /* the parts of both that passed in garbage collections */
};

/* What a line allocated, in bytes and blocks. A block that is resized counts again. */
struct clp_heap_cell {
    uint64_t allocated, blocks;
};

/* Numbers that somebody else counts, such as the bytes that a thread has read (tallies.h). */
enum clp_tally {
    CLP_TALLY_READ, /* bytes */
    CLP_TALLY_WRITTEN,
    CLP_TALLY_DISK_READ,
    CLP_TALLY_DISK_WRITTEN,
    CLP_TALLY_FAULTS,
    CLP_TALLY_MAJOR_FAULTS,
    CLP_TALLY_SWITCHES,
    CLP_TALLY_PREEMPTIONS,
    CLP_TALLY_COUNTER, /* the first of the program's own */
    CLP_TALLIES = CLP_TALLY_COUNTER + 4
};
#define CLP_TALLY_COUNTERS (CLP_TALLIES - CLP_TALLY_COUNTER)

#define CLP_TALLY_NAME 48 /* bytes of a counter's name and unit, with the 0 behind it */

/* When the budget of one of the program's counters was spent (tallies.h). */
struct clp_counter_unread {
    uint64_t ticks; /* of the times that are over */
    uint64_t since; /* by the clock; 0: it is not spent now */
};

/* Where the tallies that the program does not have come from. */
enum clp_tally_source { CLP_TALLY_SOURCE_IO = 1, CLP_TALLY_SOURCE_FAULTS = 2, CLP_TALLY_SOURCE_SWITCHES = 4 };

/* By how much the tallies changed while the line ran. */
struct clp_tally_cell {
    int64_t sums[CLP_TALLIES];
    int64_t most[CLP_TALLY_COUNTERS]; /* the largest value of the program's own that was read at the end of the line */
};

#define CLP_DEVICES 4      /* of how many devices tensors are counted; the processor counts as one */
#define CLP_DEVICE_NAME 16 /* bytes of a device's name, such as "cuda:0", with the 0 behind it */

/* What a line did with the tensors of a device, in bytes. */
struct clp_tensor_cell {
    uint64_t allocated, freed;
    int64_t reserved; /* by how much the allocator's own share of the device's memory changed */
    uint64_t peak;    /* the most by which one execution of the line exceeded what was allocated when it began */
};

/* What devices did for a line. */
struct clp_device_cell {
    struct clp_tensor_cell tensors[CLP_DEVICES];
    uint64_t time;     /* of the kernels and copies that the line launched, nanoseconds */
    uint64_t wait;     /* in which the line waited for a device, nanoseconds */
    uint64_t launches; /* number of these kernels and copies */
};

/* How well the self time of a line is known where it is an estimate. */
struct clp_light_cell {
    double squares; /* of the ticks by which its parts may be wrong: their root is the standard error */
};

/* What a block may have besides times. */
enum clp_part {
    CLP_PART_MEMORY = 1,
    CLP_PART_TALLIES = 2,
    CLP_PART_CALLED = 4,
    CLP_PART_DEVICES = 8,
    CLP_PART_LIGHT = 16,
    CLP_PARTS_ALL = 31
};

enum clp_area_kind {
    CLP_AREA_NONE, /* never used, nor is anything behind it in the chunk */
    CLP_AREA_FREE,
    CLP_AREA_BLOCK,
    CLP_AREA_THREAD,
    CLP_AREA_STACK,
    CLP_AREA_BASE, /* a block: what a function's counters held before this run counted it */
    CLP_AREA_CALLS, /* nodes of the tree of calls (call_tree.h) */
    CLP_AREA_CALL_SUM, /* what the nodes of a function counted for this run beyond their counts */
    CLP_AREA_CALL_BASE, /* what the nodes of a function held before this run counted it */
    CLP_AREA_TENSORS, /* what no line did with tensors */
    CLP_AREA_SAMPLES, /* what samples gave the lines of a function, and is in no block yet (stack_samples.h) */
    CLP_AREA_SAMPLED_CALLS, /* what they gave calling contexts */
    CLP_AREA_WAYS, /* the ways of a code object (ways.h) */
    CLP_AREA_WAY_COUNTERS,
    CLP_AREA_LAST = CLP_AREA_WAY_COUNTERS
};

/* The head of every piece of memory that the pool gives. */
struct clp_area {
    uint32_t kind;
    uint32_t class; /* the area takes 2^class bytes */
};

/* What was allocated for tensors while no line ran, and freed; without peaks. */
struct clp_tensors_outside {
    struct clp_area area;
    struct clp_tensor_cell cells[CLP_DEVICES];
};

enum clp_chunk_kind { CLP_CHUNK_AREAS = 1, CLP_CHUNK_RECORDS, CLP_CHUNK_HISTORY };

/* The head of every chunk. The contents follow. */
struct clp_chunk {
    struct clp_chunk *next;
    size_t mapped;    /* head and contents, whole pages */
    uint64_t address; /* where the process mapped it: pointers in the file count from here */
    uint64_t used;    /* in a chunk of records: bytes behind the head that are complete */
    uint32_t kind;    /* enum clp_chunk_kind; written last */
    char pad[28];     /* the contents start on a cache line */
};

struct clp_block {
    struct clp_area area;
    uint32_t function;
    int32_t lowest_line; /* the line of cells[0] */
    uint32_t line_count; /* how many cells there are */
    uint32_t running; /* activations of the function on this thread's stack */
    uint64_t total; /* raw inclusive ticks of the function, recursion counted once */
    int64_t total_correction; /* 1/256 ticks */
    struct clp_rss_cell *rss; /* NULL without CLP_PART_MEMORY */
    const struct clp_line_map *map; /* the function's */
    struct clp_heap_cell *heap; /* NULL without CLP_PART_MEMORY */
    struct clp_tally_cell *tallies; /* NULL without CLP_PART_TALLIES */
    struct clp_called_cell *called; /* NULL without CLP_PART_CALLED */
    struct clp_device_cell *devices; /* NULL without CLP_PART_DEVICES */
    struct clp_light_cell *light; /* NULL without CLP_PART_LIGHT */
    uint32_t parts; /* a sum of enum clp_part */
    void *latest; /* the engine's record of the body that resumed here last; it may be stale */
    _Alignas(64) struct clp_cell cells[];
};

/* Where the cell of a line lies in a block, in bytes from the block's start. */
static inline size_t clp_block_place(uint32_t index)
{
    return offsetof(struct clp_block, cells) + index * sizeof(struct clp_cell);
}

static inline struct clp_cell *clp_block_cell(struct clp_block *block, size_t place)
{
    return (struct clp_cell *)((char *)block + place);
}

static inline size_t clp_block_place_of(const struct clp_block *block, const struct clp_cell *cell)
{
    return (size_t)((const char *)cell - (const char *)block);
}

/* What the line of this cell allocated. block->heap must not be NULL. The hooks on the allocators find the line's
 * entry without its number: it lies a quarter as far into `heap` as the cell into `cells`. */
static inline struct clp_heap_cell *clp_block_heap(const struct clp_block *block,
                                                   const struct clp_cell *cell)
{
    _Static_assert(sizeof(struct clp_cell) == 4 * sizeof(struct clp_heap_cell), "a quarter");
    size_t place = (size_t)((const char *)cell - (const char *)block->cells);

    return (struct clp_heap_cell *)((char *)block->heap + place / 4);
}

/* The garbage collections of all lines. They stand behind the cells. */
static inline struct clp_gc_cell *clp_block_gc(const struct clp_block *block)
{
    return (struct clp_gc_cell *)(uintptr_t)(block->cells + block->line_count);
}

/* The waiting of all lines. It stands behind the garbage collections. */
static inline struct clp_cpu_cell *clp_block_cpu(const struct clp_block *block)
{
    return (struct clp_cpu_cell *)(clp_block_gc(block) + block->line_count);
}

static inline void clp_gc_add(struct clp_gc_cell *into, struct clp_gc_cell from)
{
    into->ticks += from.ticks;
    into->runs += from.runs;
}

static inline void clp_gc_subtract(struct clp_gc_cell *from, struct clp_gc_cell base)
{
    from->ticks -= base.ticks;
    from->runs -= base.runs;
}

/* Raw inclusive ticks of a line. */
static inline uint64_t clp_cell_time(const struct clp_cell *cell)
{
    return cell->self + (uint64_t)cell->nested;
}

/* The correction of a line's self time in 1/256 ticks; line_cost is that of one line event. The result is no
 * integer, because the sum in a damaged file would not always fit one. */
static inline double clp_cell_self_correction(const struct clp_cell *cell, int64_t line_cost)
{
    return (double)cell->hits * (double)line_cost + (double)cell->self_correction;
}

#define CLP_POOL_LEAST_CLASS 6
#define CLP_POOL_CLASSES 40

struct clp_pool {
    struct clp_pages *pages; /* borrowed */
    struct clp_chunk *chunks;
    char *free_bytes; /* the unused rest of the newest chunk */
    size_t free_count;
    void *recycled[CLP_POOL_CLASSES]; /* areas given back, listed by size: [n] has areas of 2^n bytes */
};

void clp_pool_init(struct clp_pool *pool, struct clp_pages *pages);

/* Unmaps every chunk. All that the pool has given is gone. */
void clp_pool_clear(struct clp_pool *pool);

/* Gives at least `bytes` bytes, counting the struct clp_area at their start. All but that head is zeroed. The
 * kind is CLP_AREA_FREE until clp_area_set_kind. NULL: no memory. */
void *clp_pool_take(struct clp_pool *pool, size_t bytes);
void clp_pool_give(struct clp_pool *pool, void *area);

/* Says what the area holds. Call it once the contents are complete: a reader trusts them from then on. */
static inline void clp_area_set_kind(struct clp_area *area, enum clp_area_kind kind)
{
    __atomic_store_n(&area->kind, (uint32_t)kind, __ATOMIC_RELEASE);
}

/* What a line takes in each block, in bytes; the parts come on top. */
#define CLP_BLOCK_LINE_BYTES (sizeof(struct clp_cell) + sizeof(struct clp_gc_cell) + sizeof(struct clp_cpu_cell))

/* The size in bytes of a block with these parts. */
size_t clp_block_bytes(uint32_t line_count, uint32_t parts);

/* A zeroed block with these parts for this function, which has that number. NULL: no memory. */
struct clp_block *clp_block_new(struct clp_pool *pool, const struct clp_function *function,
                                uint32_t number, uint32_t parts);
void clp_block_free(struct clp_pool *pool, struct clp_block *block);

/* Adds the counters of `from` to `into`, as far as `into` has the parts for them. Both are blocks of one function. */
void clp_block_merge(struct clp_block *into, const struct clp_block *from);

/* Subtracts all sums of `base` from `from`. Largest values stay as they are. */
void clp_block_subtract(struct clp_block *from, const struct clp_block *base);

/* Sets the largest values to 0, so that they begin anew. */
void clp_block_forget_largest(struct clp_block *block);

/* Raises the largest values of `into` to those of `from`, and changes nothing else. */
void clp_block_merge_largest(struct clp_block *into, const struct clp_block *from);

/* Points to the places of block->parts in the block, with NULL for those that it does not have. */
void clp_block_place_parts(struct clp_block *block);

#endif
