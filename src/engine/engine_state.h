/* SPDX-License-Identifier: MIT */
/* What the engine keeps: of a body that runs, of one that is suspended, of a thread, of them all. engine.h
 * says what the numbers mean. */
#ifndef CLP_ENGINE_STATE_H
#define CLP_ENGINE_STATE_H

#include "functions.h"
#include "groups.h"
#include "base/hashmap.h"
#include "lines.h"
#include "base/mem.h"
#include "os/thread.h"
#include <stdbool.h>
#include <stdint.h>

#define CLP_CORRECTION_ONE 256 /* corrections count 1/256 ticks */

/* What an execution was charged, in whole ticks, for its largest time; less than 0 counts as nothing. */
static inline int64_t clp_engine_whole_ticks(int64_t correction)
{
    return correction > 0 ? correction / CLP_CORRECTION_ONE : 0;
}

/* What an event adds to the interval before its reading of the clock and to the one behind it, in
 * 1/256 ticks. Within a selected body that is counted from what a line event would add there. */
struct clp_cost {
    int64_t before, after;
};

/* All in 1/256 ticks. */
struct clp_costs {
    int64_t line; /* a line event, in whole */
    struct clp_cost enter, leave, suspend, resume;
    int64_t last_line;   /* a line event that leaves the body, too: the part behind its reading */
    int64_t work;        /* what the instructions of such a line take, all of it there */
    int64_t foreign;     /* an event of a function that is not selected, in whole (settrace) */
    int64_t instruction; /* what a cheap instruction of the program takes: a load or store of a local */
    int64_t unadapted;   /* what one takes longer when the event there keeps it from being adapted */
};

/* A body that is suspended, and where. */
struct clp_suspended {
    struct clp_suspended *next_free;
    const void *frame; /* the body's; NULL while the record is free */
    uint32_t function;
    uint32_t line;
    bool on_line;     /* had its first line begun? */
    int32_t before;   /* as the activation's */
    uint64_t carried; /* ticks of the line's execution so far */
    uint64_t since;   /* the clock itself: it may resume in a thread with another standstill */
};

struct clp_activation {
    const void *frame; /* identity of the running body, never dereferenced */
    struct clp_block *block;
    struct clp_cell *cell; /* of the line being executed, or the thread's `outside` */
    uint64_t code;  /* a tracer's: identity of the code that runs; 0 at first */
    bool special;   /* the stay is more than one interval; the start_.. below are set */
    bool continued; /* the stay was suspended; its line event belongs to an earlier activation */
    int32_t before; /* a tracer's: the line of the instruction executed last; -1: it has none, 0: it is
                     * the cell's */
    uint64_t start;
    int64_t start_correction;
    int64_t start_rss;
    uint64_t carried;                     /* ticks of this execution before a suspension */
    uint64_t entered;                     /* when the body was entered or resumed */
    int64_t entered_correction;
    int64_t entry_cost;                   /* of that event, for the first line to take */
    struct clp_suspended *suspended;      /* its record of an earlier suspension, or NULL */
};

/* What the allocator's hooks keep of a thread. The first two are atomic: another thread may write there. */
struct clp_allocating {
    int64_t left;    /* bytes to the next block that is chosen for the table of live blocks */
    uint64_t random; /* 0: nothing was drawn yet */
    uint32_t busy;   /* in the allocator, or at work that is the profiler's own: not counted */
};

/* A thread and its stack come from the pool: whoever reads its chunks when the process is gone finds
 * the lines that were being executed. */
struct clp_thread {
    struct clp_area area;
    struct clp_activation *top; /* clp_engine_top: who may read it without the interpreter's lock */
    uint64_t last;          /* the thread's last event, on its own clock */
    uint64_t stopped;       /* ticks its clock has stood still */
    int64_t correction;     /* of all events so far, 1/256 ticks */
    int64_t line_cost;      /* of a line event, 1/256 ticks */
    int64_t line_ticks;     /* the same in whole ticks */
    int64_t leave_ticks;    /* .. with that of the leaving which ends the line */
    int64_t suspend_ticks;  /* .. of the suspension */
    struct clp_cost enter, leave; /* the engine's costs */
    struct clp_cost last_line;    /* what the line is charged, no line event but its work; its caller's */
    uint64_t rss_span;            /* the engine's */
    uint32_t usage;         /* resident size at the last read, in CLP_USAGE_UNIT bytes */
    bool broken;            /* out of memory once: records nothing more */
    bool unhooked;          /* a tracer's: its next event does what could not be done before */
    bool traced;            /* a tracer's: at its last event the thread had a trace function */
    bool ended;             /* clp_engine_end_thread was called: may be reaped */
    uint32_t group;         /* of the engine's; 0: of no name */
    int64_t rss, last_rss;  /* resident bytes by what it did itself, at the last read and event */
    struct clp_engine *engine;
    struct clp_block **blocks; /* by function number; NULL where it never ran here */
    size_t block_room;
    struct clp_activation *stack; /* [0] is the floor */
    struct clp_activation *last_room; /* of the stack */
    size_t stack_room;
    struct clp_cell outside; /* `open` throughout, which keeps it off the hot path */
    uint64_t reads;
    struct clp_allocating allocating;
    uint64_t changes; /* of the engine's, when this thread read last */
    int64_t others_grown, others_released; /* what its reads left open, less what they took of that */
    struct clp_thread_use use; /* a tracer's: what the system said of the thread, and when */
    uint64_t use_at;
    struct clp_thread *next;
};

/* The area of a stack; its activations start on the next cache line. */
#define CLP_STACK_HEAD 64

/* A change of the resident size that a read saw, as far as no thread has taken it. */
struct clp_rss_change {
    uint64_t number;
    int64_t bytes;
    int64_t idle; /* of them those that a thread took in which nothing ran */
};

#define CLP_OPEN_CHANGES 16 /* the oldest one makes room: it stays the other threads' */

/* How long the quickest of the last reads of resident memory took, and the quickest since. Ticks. */
struct clp_read_cost {
    uint64_t least, next;
    uint32_t count; /* reads since */
};

struct clp_engine {
    struct clp_mem *mem; /* borrowed */
    struct clp_functions functions;
    struct clp_pool pool;
    struct clp_costs costs;
    bool with_rss;
    uint64_t rss_span; /* ticks below which no memory can have changed */
    int64_t rss;       /* resident bytes at the last read of any thread */
    bool knows_rss;    /* was there one? */
    struct clp_read_cost read_cost;
    uint64_t changes;  /* seen so far, while there were several threads */
    int64_t others;    /* bytes of them that stayed the other threads' */
    struct clp_rss_change open[CLP_OPEN_CHANGES]; /* the oldest first */
    size_t open_count;
    struct clp_thread *threads;
    struct clp_thread *ended; /* counters of reaped threads, by group; made when first needed */
    struct clp_groups groups; /* none: threads are not told apart */
    struct clp_hashmap suspended;
    struct clp_suspended *free_suspended;
    struct clp_hashmap parked; /* stacks that do not run, by their owner */
    bool lost; /* some activation was not recorded for want of memory */
};

#endif
