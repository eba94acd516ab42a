/* SPDX-License-Identifier: MIT */
/* The table of live blocks: which line of the program owns each of them, and what became of those
 * that are gone.
 *
 *   address ----> slot (shadow.h)          bytes and owner, execution, born
 *   owner ------> struct clp_heap_line     bytes alive, alive at the peak, freed at once
 *   function, line ---^
 *
 * Which blocks. At an interval of 1 every block is in the table, and all is exact. Otherwise each
 * byte is a sample with the chance of 1 in `interval`, independent of all others, so a block of s
 * bytes is chosen with probability p = 1 - exp(-s / interval). It stands for 1 / p blocks and s / p
 * bytes, which makes every sum an unbiased estimate (Horvitz and Thompson, Journal of the American
 * Statistical Association 47, 1952; Go's and jemalloc's heap profiles are scaled the same way). A
 * thread counts down the bytes to its next sample, drawn from the exponential distribution: as that
 * has no memory, where one block ends and the next begins makes no difference.
 *
 * A block that is not in the table costs its free one look-up in the shadow, mostly three reads of what
 * stays in the cache. It takes no lock: who frees a block knows its address from who allocated it, so
 * what is said of it there is there to be seen.
 *
 * The peak. When all live bytes reach a new height, that peak gets a number; nothing else is done.
 * A line that is about to change sees that there was a peak since it changed last, and what it has
 * now is what it had then.
 *
 * Things that grow. A list, dict or str grows by giving up its block for a larger one: the allocator
 * resizes it, or a new block is allocated and the old one freed. Where that happens on one line and in a
 * later call than the block's first, the new block is marked as stretched, and the difference counts as
 * growth of the line. When a stretched block shrinks, or is freed and no other takes its place, that counts
 * as lost. A list that is built and dropped within a call counts as nothing.
 *
 * Epochs. For verdicts on leaks (leaks.h) each line keeps its live bytes at the end of each
 * epoch, and each block the epoch it was born in. The epochs of a line are the calls of its
 * function, or one clock for all lines. When there are CLP_LEAKS_MOST_EPOCHS of them, two become
 * one.
 *
 * Any thread may call; one lock holds for moments, and is not taken while the process has a single
 * thread. Memory is the table's own pages. */
#ifndef CLP_HEAP_H
#define CLP_HEAP_H

#include "os/arena.h"
#include "engine/functions.h"
#include "leaks.h"
#include "mappings.h"
#include "os/pages.h"
#include "shadow.h"
#include "os/thread.h"

#define CLP_HEAP_AGES 32
#define CLP_HEAP_INTERVAL 65536 /* bytes: the usual mean distance of samples */

/* Which line runs; by function and place within it, as threads' counters come and go. */
struct clp_heap_place {
    uint32_t function; /* or CLP_HEAP_NOBODY: code that is not selected */
    uint32_t line;
    uint32_t line_count; /* of the function */
    uint32_t execution;  /* which one of the line's, in which thread */
};

#define CLP_HEAP_NOBODY UINT32_MAX

/* A slot's `owned`: the block's bytes and the number of its line. */
#define CLP_HEAP_OWNER_BITS 24
#define CLP_HEAP_MOST_OWNERS ((uint64_t)1 << CLP_HEAP_OWNER_BITS)
#define CLP_HEAP_MOST_BYTES ((uint64_t)1 << (64 - CLP_HEAP_OWNER_BITS))

static inline uint64_t clp_heap_slot_bytes(const struct clp_shadow_slot *slot)
{
    return slot->owned >> CLP_HEAP_OWNER_BITS;
}

static inline uint32_t clp_heap_slot_owner(const struct clp_shadow_slot *slot)
{
    return (uint32_t)(slot->owned & (CLP_HEAP_MOST_OWNERS - 1));
}

/* Executions are told apart by so many bits of their number. */
#define CLP_HEAP_EXECUTION ((uint32_t)INT32_MAX)

/* A block that was taken out of the table. */
struct clp_heap_block {
    const void *address;
    struct clp_shadow_slot slot;
    uint64_t restarts; /* of the table, until then: its owner is a line of that table */
};

/* What verdicts need of a line. Deaths are kept by age: [i] of blocks older than 3 * 2^i calls.
 * `stretched` and `lost` are the sums of struct clp_leaks_thing up to now, the arrays those at the end of
 * each epoch. The line's `newest` block can take the place of an older one that is freed in the same call;
 * blocks of less than `reach` bytes, the size of the last one that was replaced or freed, are passed over.
 * Where blocks are samples, the one that took its place may not be in the table: `missed` is what was lost
 * by that at the call `missed_at`, until a later block takes its place. */
struct clp_heap_trail {
    int64_t live[CLP_LEAKS_MOST_EPOCHS + 1];
    int64_t stretched_by[CLP_LEAKS_MOST_EPOCHS + 1], lost_by[CLP_LEAKS_MOST_EPOCHS + 1];
    uint64_t dead[CLP_HEAP_AGES]; /* weights */
    uint32_t deaths[CLP_HEAP_AGES];
    uint64_t old_alive, old_blocks; /* while a verdict is made */
    int64_t stretched, lost;
    const void *newest; /* NULL: none */
    uint64_t reach, missed;
    uint32_t missed_at;
};

struct clp_heap_line {
    int64_t live;   /* bytes */
    int64_t blocks; /* .. in 1/CLP_HEAP_ONE */
    int64_t at_peak;
    uint64_t peak; /* the number of the peak at_peak is of */
    uint64_t freed_at_once;
    uint64_t native, native_blocks; /* asked of C's allocators; the second in 1/CLP_HEAP_ONE */
    uint32_t number;   /* as an owner; 0: nothing was ever chosen */
    uint32_t function; /* or CLP_HEAP_NOBODY */
    struct clp_heap_trail *trail; /* NULL: no verdicts are wanted, or nothing was ever alive */
};

#define CLP_HEAP_ONE 1024

/* Calls, or ticks of whatever epochs go by; an epoch has `stride` of them. */
struct clp_heap_clock {
    uint64_t calls, stride;
    size_t epochs; /* that have ended */
};

struct clp_heap_function {
    struct clp_heap_line *lines; /* NULL: nothing of it was ever chosen */
    uint32_t line_count;
    struct clp_heap_clock clock;
};

enum clp_heap_epochs {
    CLP_HEAP_NO_EPOCHS,
    CLP_HEAP_BY_CALLS, /* each function's lines by its own calls */
    CLP_HEAP_BY_ONE    /* all lines by clp_heap_tick */
};

struct clp_heap {
    uint64_t interval;
    enum clp_heap_epochs epochs;
    struct clp_lock lock;
    struct clp_pages pages;
    struct clp_arena arena;
    struct clp_shadow shadow;
    struct clp_mappings mappings; /* of the blocks in the table those that are */
    struct clp_heap_line **owners; /* by number; [0] is none */
    size_t owner_count, owner_room;
    struct clp_heap_function *functions;
    size_t function_room;
    struct clp_heap_line nobody;
    struct clp_heap_clock clock;
    int64_t live, peak;
    uint64_t peak_number;
    uint64_t seeds; /* of threads; may be set at the start, atomically */
    uint64_t restarts;
    bool lost; /* out of memory once, or of what else a block needs: numbers are too small */
};

/* What a chosen block of this size stands for. */
struct clp_heap_weight {
    int64_t bytes, blocks; /* blocks in 1/CLP_HEAP_ONE */
};

struct clp_heap_weight clp_heap_weight(const struct clp_heap *heap, uint64_t bytes);

/* *heap must not move afterwards. CLP_NO_MEMORY: there is none to begin with. */
clp_status clp_heap_init(struct clp_heap *heap, uint64_t interval, enum clp_heap_epochs epochs);

/* As after clp_heap_init: nothing is in the table and nothing was. Threads that look for a block may go
 * on, and so may those that have taken one out. CLP_NO_MEMORY as there. */
clp_status clp_heap_restart(struct clp_heap *heap, uint64_t interval, enum clp_heap_epochs epochs);

/* Nobody may look any more. */
void clp_heap_clear(struct clp_heap *heap);

/* Bytes to the next block that is chosen, where not all are; *random is the thread's, 0 at first. */
int64_t clp_heap_draw(struct clp_heap *heap, uint64_t *random);

/* The countdown of bytes is over, or never began: is the block of this size chosen? Starts it anew
 * if so. */
bool clp_heap_choose(struct clp_heap *heap, int64_t *left, uint64_t *random, size_t bytes);

/* A chosen block is new. */
void clp_heap_add(struct clp_heap *heap, const void *address, size_t bytes,
                  const struct clp_heap_place *place);

/* A block is about to be freed, by the line at `place`. */
void clp_heap_drop(struct clp_heap *heap, const void *address, const struct clp_heap_place *place);

/* A block is about to change its size, and with it maybe its address: takes it out. False when it
 * is not in the table. Then either clp_heap_moved or clp_heap_restore follows. */
bool clp_heap_take(struct clp_heap *heap, const void *address, struct clp_heap_block *taken);

/* The block has changed its size; the line at `place` owns it now. `taken` is NULL when it was not in the table;
 * address is NULL where it was not chosen for it. On its own line it keeps its age. */
void clp_heap_moved(struct clp_heap *heap, const struct clp_heap_block *taken, const void *address,
                    size_t bytes, const struct clp_heap_place *place);

/* The block could not change its size: all is as it was. */
void clp_heap_restore(struct clp_heap *heap, const struct clp_heap_block *taken);

/* Of what is in the table the line asked C's allocators, not Python's, for this. */
void clp_heap_count_native(struct clp_heap *heap, size_t bytes, const struct clp_heap_place *place);

/* Chosen pages are new; what was mapped there before is gone. */
void clp_heap_map(struct clp_heap *heap, const void *address, size_t bytes,
                  const struct clp_heap_place *place);

/* Pages are about to go, of whichever mappings; what is left of these keeps its owner. */
void clp_heap_unmap(struct clp_heap *heap, const void *address, size_t bytes,
                    const struct clp_heap_place *place);

/* Where epochs go by calls: the function is entered. */
void clp_heap_call(struct clp_heap *heap, uint32_t function);

/* Where they go by one clock: an epoch ends. */
void clp_heap_tick(struct clp_heap *heap);

/* The last epochs end. */
void clp_heap_finish(struct clp_heap *heap);

/* Around a fork: nobody is in the middle of a change. */
void clp_heap_fork_prepare(struct clp_heap *heap);
void clp_heap_fork_done(struct clp_heap *heap);

/* A thread may ask without the lock: it was the one until now or is the new one. */
static inline uint64_t clp_heap_interval(const struct clp_heap *heap)
{
    return __atomic_load_n(&heap->interval, __ATOMIC_RELAXED);
}

static inline bool clp_heap_is_exact(const struct clp_heap *heap)
{
    return clp_heap_interval(heap) <= 1;
}

/* False: it is not in the table. */
static inline bool clp_heap_may_have(const struct clp_heap *heap, const void *address)
{
    return clp_shadow_may_have(&heap->shadow, address);
}

#endif
