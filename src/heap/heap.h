/* SPDX-License-Identifier: MIT */
/* The table of live blocks: which line of the program has allocated each of them, and how many were freed
 * when.
 *
 *   address ----> slot (shadow.h)          bytes and owner, execution, born
 *   owner ------> struct clp_heap_line     bytes alive, alive at the peak, freed at once
 *   function, line ---^
 *
 * Which blocks. At an interval of 1 every block is in the table, and all numbers are exact. Otherwise each byte
 * is a sample with the chance of 1 in `interval`, independent of all others, so a block of s bytes is chosen
 * with probability p = 1 - exp(-s / interval). It stands for 1 / p blocks and s / p bytes, which makes every sum
 * an unbiased estimate (Horvitz and Thompson, Journal of the American Statistical Association 47, 1952; Go's and
 * jemalloc's heap profiles are scaled the same way). A thread counts down the bytes to its next sample, a number
 * drawn from the exponential distribution. That distribution has no memory, so it makes no difference where one
 * block ends and the next begins.
 *
 * The usual interval is finer at first: a 64th of CLP_HEAP_INTERVAL until CLP_HEAP_LEVEL_BLOCKS blocks were chosen, then a
 * 16th, and so on. So a short run is measured as exactly as a long one, at a cost that has a bound. A slot has its
 * level: the block was chosen at the interval shifted right by twice as many bits.
 *
 * Every free looks up its block. If the block is not in the table, this takes three reads, mostly from the
 * cache, and no lock. No lock is needed, because a thread that frees a block got the address from the thread
 * that allocated it. So it sees what that thread has written about the block.
 *
 * The peak. Each new maximum of the sum of all live bytes is a peak, and has a number. Lines are not visited
 * at a peak. Each line has the number of the last peak that it knows of, and compares it before its live
 * bytes change. If there was a newer peak, the line's live bytes have been the same since then, so they are
 * those at the peak.
 *
 * Things that grow. A list, dict or str grows by giving up its block for a larger one: the allocator resizes it,
 * or a new block is allocated and the old one freed. If both blocks belong to one line, and the old one was
 * allocated in an earlier call, then the new block is marked as stretched, and the difference counts as growth
 * of the line. When a stretched block shrinks, the difference counts as lost. When it is freed and no other
 * takes its place, all of it counts as lost. A list that is built and dropped within a call counts as nothing.
 *
 * Epochs. For verdicts on leaks (leaks.h) each line keeps its live bytes at the end of each epoch. The epochs of a
 * line are the calls of its function, or ticks of one clock for all lines. If the function has had too few calls for
 * a verdict, they are executions of the line itself, of those that allocated a chosen block: so a loop is judged that
 * runs within a single call. When there are CLP_LEAKS_MOST_EPOCHS of them, every two are joined to one.
 *
 * Progress is the number of all calls, ticks and such executions so far. Each block has the progress at which it was
 * allocated, and each clock that of the ends of its epochs. After 2^32 calls blocks have it in steps of two, then of four.
 *
 * The end of the program. What it frees on its way out says nothing: the locals of main(), tasks that are cancelled,
 * handlers of atexit. So the verdicts of a program that is over are about what was alive at a mark (clp_heap_mark),
 * which is set when a function returns in which most of the progress was made, or else when the program's last line
 * has run. What no selected line has freed since a line's last call counts as alive at a mark. What the collector frees
 * the first time that it runs does not: it may have been garbage at the mark, and have waited. If somebody was found to
 * hold the line's memory, it was none, and counts.
 *
 * Any thread may call. One lock is held for moments, and is not taken while the process has a single thread.
 * The memory is the table's own pages. */
#ifndef CLP_HEAP_H
#define CLP_HEAP_H

#include "os/arena.h"
#include "engine/functions.h"
#include "leaks.h"
#include "mappings.h"
#include "os/pages.h"
#include "shadow.h"
#include "os/thread.h"

#define CLP_HEAP_INTERVAL 65536 /* bytes: the usual mean distance of samples */
#define CLP_HEAP_LEVELS 3           /* so many times it is divided by four at first .. */
#define CLP_HEAP_LEVEL_BLOCKS 8192  /* .. each time for so many chosen blocks */

/* Which line runs: a function and a line of it. A pointer to the line's cell would not do, because cells are
 * given back when their thread has ended. */
struct clp_heap_place {
    uint32_t function; /* or CLP_HEAP_NOBODY: code that is not selected */
    uint32_t line;       /* the number of its cell (line_map.h) */
    uint32_t line_count; /* of the function */
    uint32_t execution;  /* clp_thread_execution: tells executions of the line apart */
    uint32_t level;      /* at which a block was chosen that is to be put into the table */
    bool unmarks;        /* what is freed here does not count as alive at the last mark any more */
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

/* The bits of an execution's number that a slot has room for. */
#define CLP_HEAP_EXECUTION (((uint32_t)1 << 28) - 1)

/* A block that was taken out of the table. */
struct clp_heap_block {
    const void *address;
    struct clp_shadow_slot slot;
    uint64_t restarts; /* the heap's when the block was taken; after a restart owners have other numbers */
};

/* Counts calls, or ticks (clp_heap_tick); an epoch has `stride` of them. */
struct clp_heap_clock {
    uint64_t calls, stride;
    size_t epochs;  /* that have ended */
    uint64_t began; /* the progress when the present call or tick began */
    uint64_t at[CLP_LEAKS_MOST_EPOCHS + 1]; /* the progress at the start, and at the end of each epoch */
};

/* A line of a function that is called seldom. Its clock counts executions that allocated a chosen block. */
struct clp_heap_runs {
    struct clp_heap_clock clock;
    uint32_t first, last; /* such executions, by their numbers */
    int64_t live[CLP_LEAKS_MOST_EPOCHS + 1];
};

/* What verdicts on leaks (leaks.h) need of a line. `stretched` and `lost` are the sums of struct
 * clp_leaks_thing up to now. The arrays `live`, `stretched_by` and `lost_by` have an element for the start,
 * and for the end of each epoch.
 *
 * `newest` is the newest block of at least `least_bytes` bytes. It takes the place of an older block that is
 * freed in the same call. `least_bytes` is the size of the last block that has taken a place, or that was
 * freed and had none to take its place. Smaller new blocks are passed over, because only a block of at least
 * the freed block's size takes its place.
 *
 * Where blocks are samples, the block that takes a place may not be in the table. Then the old block is
 * counted as lost, `missed` is its size, and `missed_at` is the call or tick. If a later block of the thing
 * is in the table, the loss is taken back. */
struct clp_heap_trail {
    int64_t live[CLP_LEAKS_MOST_EPOCHS + 1];
    int64_t stretched_by[CLP_LEAKS_MOST_EPOCHS + 1], lost_by[CLP_LEAKS_MOST_EPOCHS + 1];
    struct clp_heap_runs *runs; /* NULL: its function was called often when it first allocated */
    int64_t stretched, lost;
    int64_t left;      /* bytes that no selected line has freed in the call that began at .. */
    uint64_t left_at;  /* .. this progress */
    int64_t at_mark;   /* bytes that were alive at the last mark */
    char *held_by;     /* who held the line's memory when it was searched for last (cpython/memory/holders.h), or NULL */
    double variance;   /* of the estimate of the bytes that are alive; set when a verdict is made */
    const void *newest; /* NULL: none */
    uint64_t least_bytes;
    uint64_t missed; /* 0: none */
    uint32_t missed_at;
};

struct clp_heap_line {
    int64_t live;   /* bytes */
    int64_t blocks; /* live blocks, in 1/CLP_HEAP_ONE */
    int64_t at_peak;
    uint64_t peak; /* the number of the peak that at_peak belongs to */
    uint64_t freed_at_once;
    uint64_t allocated, allocated_blocks; /* of the blocks that were ever in the table; the second in 1/CLP_HEAP_ONE */
    uint64_t native, native_blocks; /* asked of C's allocators; likewise */
    uint32_t number;   /* as an owner; 0: nothing was ever chosen */
    uint32_t function; /* or CLP_HEAP_NOBODY */
    struct clp_heap_trail *trail; /* NULL: no verdicts are wanted, or nothing was ever alive */
};

#define CLP_HEAP_ONE 1024

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

/* How the program stands. */
enum clp_heap_end {
    CLP_HEAP_RUNS,     /* no mark */
    CLP_HEAP_RETURNED, /* a mark: the last function that made most of the progress has returned */
    CLP_HEAP_ENDED     /* a mark that stays: the program's last line has run */
};

struct clp_heap {
    uint64_t interval; /* the largest */
    uint32_t level;    /* of the blocks that are chosen now */
    uint32_t chosen;   /* at this level; both are atomic, and a number that two threads lose makes no difference */
    enum clp_heap_epochs epochs;
    struct clp_lock lock;
    struct clp_pages pages;
    struct clp_arena arena;
    struct clp_shadow shadow;
    struct clp_mappings mappings; /* the blocks in the table that came from mmap */
    struct clp_heap_line **owners; /* by number; [0] is none */
    size_t owner_count, owner_room;
    struct clp_heap_function *functions;
    size_t function_room;
    struct clp_heap_line nobody;
    struct clp_heap_clock clock;
    uint64_t progress;
    uint32_t born_shift; /* a slot's `born` is the progress, shifted right so far that it fits */
    enum clp_heap_end end;
    uint64_t marked;    /* the progress at the last mark */
    bool weighed;       /* the variances of lines are those at the last mark */
    bool collecting;    /* the collector runs */
    uint64_t collected; /* the progress when it ran last */
    int64_t live, peak;
    uint64_t peak_number;
    uint64_t seeds; /* the last seed of random numbers that a thread got; atomic, and may be set at the start */
    uint64_t restarts;
    bool lost; /* a block found no place in the table (no memory, no number left): results are too small */
};

/* How much memory a chosen block stands for: itself, and blocks of its size that were not chosen. */
struct clp_heap_weight {
    int64_t bytes, blocks; /* blocks in 1/CLP_HEAP_ONE */
};

/* Returns what a block stands for that was chosen at this level. */
struct clp_heap_weight clp_heap_weight(const struct clp_heap *heap, uint64_t bytes, uint32_t level);

/* *heap must not move afterwards. CLP_NO_MEMORY: there is none to begin with. */
clp_status clp_heap_init(struct clp_heap *heap, uint64_t interval, enum clp_heap_epochs epochs);

/* Empties the table and forgets all numbers, as after clp_heap_init. Meanwhile other threads may look up
 * blocks, and may be between clp_heap_take and clp_heap_moved. CLP_NO_MEMORY: there is none to begin with. */
clp_status clp_heap_restart(struct clp_heap *heap, uint64_t interval, enum clp_heap_epochs epochs);

/* Gives back all memory. No thread may look up blocks any more. */
void clp_heap_clear(struct clp_heap *heap);

/* A thread's countdown to the next chosen block. `left` and `random` are atomic. */
struct clp_heap_countdown {
    int64_t *left;    /* bytes */
    uint64_t *random; /* state of the thread's random numbers, 0 at first */
    uint32_t *level;  /* of the block that it leads to */
};

/* Draws the number of bytes until the next chosen block, where not all blocks are, and sets its level. */
int64_t clp_heap_draw(struct clp_heap *heap, const struct clp_heap_countdown *countdown);

/* Is the block of this size chosen? To be called when the countdown is below 0 or has never begun. If the block is
 * chosen, *level is set, and the countdown begins again. */
bool clp_heap_choose(struct clp_heap *heap, const struct clp_heap_countdown *countdown, size_t bytes, uint32_t *level);

/* Puts a chosen block, which the line at `place` has allocated, into the table. */
void clp_heap_add(struct clp_heap *heap, const void *address, size_t bytes,
                  const struct clp_heap_place *place);

/* Takes a block out of the table that the line at `place` is about to free. The block need not be in the
 * table. */
void clp_heap_drop(struct clp_heap *heap, const void *address, const struct clp_heap_place *place);

/* Takes a block out of the table before it is resized, which may change its address. If true, clp_heap_moved
 * or clp_heap_restore must be called afterwards. False: the block is not in the table. */
bool clp_heap_take(struct clp_heap *heap, const void *address, struct clp_heap_block *taken);

/* Puts a resized block into the table, for the line at `place`. `taken` is the old block, or NULL if that was
 * not in the table. `address` is NULL if the resized block is not chosen. If the old block has the same line,
 * its age is kept. */
void clp_heap_moved(struct clp_heap *heap, const struct clp_heap_block *taken, const void *address,
                    size_t bytes, const struct clp_heap_place *place);

/* Puts the block back as it was, because it could not be resized. */
void clp_heap_restore(struct clp_heap *heap, const struct clp_heap_block *taken);

/* Counts a chosen block that the line at `place` got from C's allocators, not from Python's. Does not put it
 * into the table. */
void clp_heap_count_native(struct clp_heap *heap, size_t bytes, const struct clp_heap_place *place);

/* Puts chosen pages that were just mapped into the table, as a block. What was mapped there before is taken
 * out. */
void clp_heap_map(struct clp_heap *heap, const void *address, size_t bytes,
                  const struct clp_heap_place *place);

/* Takes pages out of the table that are about to be unmapped. They may be parts of several mappings; the
 * other parts keep their owners. */
void clp_heap_unmap(struct clp_heap *heap, const void *address, size_t bytes,
                    const struct clp_heap_place *place);

/* Counts calls of the function, where its calls are the epochs (CLP_HEAP_BY_CALLS). The last of them has just begun; the
 * others are over, and nothing was chosen in them. */
void clp_heap_call(struct clp_heap *heap, uint32_t function, uint32_t count);

/* Counts a tick, where all lines have one clock (CLP_HEAP_BY_ONE). */
void clp_heap_tick(struct clp_heap *heap);

/* Notes what is alive, because the program ends. A function in which most of the progress was made returns
 * (CLP_HEAP_RETURNED), or the program's last line has run (CLP_HEAP_ENDED). A mark is kept if hardly anything has
 * happened since; at the end of the program it has what is still alive, too. Returns whether this is a new one. */
bool clp_heap_mark(struct clp_heap *heap, enum clp_heap_end end);

/* Has hardly anything happened since the last mark? */
bool clp_heap_is_marked(const struct clp_heap *heap);

/* Tells that the collector begins, or ends. To be called with the interpreter's lock. */
static inline void clp_heap_collects(struct clp_heap *heap, bool begins)
{
    if (heap->collecting && !begins)
        heap->collected = heap->progress;
    heap->collecting = begins;
}

/* Was the block allocated at this progress, or later? */
static inline bool clp_heap_born_since(const struct clp_heap *heap, const struct clp_shadow_slot *slot, uint64_t progress)
{
    return slot->born >= progress >> heap->born_shift;
}

/* Ends the last epochs. */
void clp_heap_finish(struct clp_heap *heap);

/* Keeps who holds the memory of the line with this number, as text. Without memory nothing is kept. */
void clp_heap_note_holder(struct clp_heap *heap, uint32_t owner, const char *text);

/* Returns the clock of the line's epochs so far: that of its function, of the line itself, or of all. */
const struct clp_heap_clock *clp_heap_clock_of(const struct clp_heap *heap, const struct clp_heap_line *line);

/* Has the program's last line run? */
static inline bool clp_heap_is_over(const struct clp_heap *heap)
{
    return heap->end == CLP_HEAP_ENDED;
}

/* The progress, or that at the mark if the program is over. */
static inline uint64_t clp_heap_progress(const struct clp_heap *heap)
{
    return clp_heap_is_over(heap) ? heap->marked : heap->progress;
}

/* The bytes of the line that are alive, or that were at the mark if the program is over. */
static inline int64_t clp_heap_alive(const struct clp_heap *heap, const struct clp_heap_line *line)
{
    return clp_heap_is_over(heap) && line->trail != NULL ? line->trail->at_mark : line->live;
}

/* To be called before a fork, and after it in parent and child: no thread changes the table during the fork. */
void clp_heap_fork_prepare(struct clp_heap *heap);
void clp_heap_fork_done(struct clp_heap *heap);

/* Returns the mean distance of samples in bytes. Needs no lock; during a restart it is the old or the new
 * one. */
static inline uint64_t clp_heap_interval(const struct clp_heap *heap)
{
    return __atomic_load_n(&heap->interval, __ATOMIC_RELAXED);
}

static inline bool clp_heap_is_exact(const struct clp_heap *heap)
{
    return clp_heap_interval(heap) <= 1;
}

/* False: no block with this address is in the table. */
static inline bool clp_heap_may_have(const struct clp_heap *heap, const void *address)
{
    return clp_shadow_may_have(&heap->shadow, address);
}

#endif
