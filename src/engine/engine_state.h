/* SPDX-License-Identifier: MIT */
/* What the engine keeps of a running body, of a suspended body, of a thread, and of all threads. engine.h says
 * what the numbers mean. */
#ifndef CLP_ENGINE_STATE_H
#define CLP_ENGINE_STATE_H

#include "functions.h"
#include "groups.h"
#include "base/hashmap.h"
#include "call_tree.h"
#include "callee_names.h"
#include "lines.h"
#include "base/mem.h"
#include "os/thread.h"
#include <stdbool.h>
#include <stdint.h>

#define CLP_CORRECTION_ONE 256 /* corrections count 1/256 ticks */

/* The charge of one execution in whole ticks, for its largest time. A negative charge counts as 0. */
static inline int64_t clp_engine_whole_ticks(int64_t correction)
{
    return correction > 0 ? correction / CLP_CORRECTION_ONE : 0;
}

/* What an event costs, in 1/256 ticks: `before` its reading of the clock, in the interval that ends there, and
 * `after` it, in the interval that begins there. Where that interval lies in a selected body, the number is the
 * difference from what a line event would cost there. */
struct clp_cost {
    int64_t before, after;
};

/* What each kind of event costs, in 1/256 ticks. */
struct clp_costs {
    int64_t line; /* a whole line event, both parts */
    struct clp_cost enter, leave, suspend, resume;
    int64_t last_line;   /* a line event that also leaves the body (`return x`): the part after its reading */
    int64_t work;        /* what the instructions of such a line take; all of them run after the reading */
    int64_t foreign;     /* a whole event of a function that is not selected (settrace) */
    int64_t foreign_call; /* a call of such a function: its first event, and how much slower the call is itself */
    int64_t foreign_resume; /* the same for a body that may suspend, which is entered once and resumed often */
    int64_t stray;       /* an event of a selected function at which no line begins (settrace): a jump within a line */
    int64_t instruction; /* what a cheap instruction of the program takes: a load or store of a local */
    int64_t unadapted;   /* how much longer an instruction takes where an event keeps it from being adapted */
    int64_t merge;       /* the interpreter looks whether a line begins where the ways of a line meet again; none does */
    int64_t pace;        /* how long events took during the run, with CLP_PACE_ONE for as long as in the calibration; 0: as
                          * long (cpython/recorder/pace.h) */
};

#define CLP_PACE_ONE 1024

/* Turns a correction into ticks. */
static inline double clp_costs_ticks(const struct clp_costs *costs, double correction)
{
    double pace = costs->pace > 0 ? (double)costs->pace / CLP_PACE_ONE : 1;

    return correction * pace / CLP_CORRECTION_ONE;
}

/* What the events around calls and operators cost (called.h), in 1/256 ticks: each event, and the part of them that
 * lies within what they measure. */
struct clp_around_costs {
    int64_t begin, end, mark, operated, iterated;
    int64_t call_inside;
    int64_t marked_inside; /* of an operator behind its mark */
    int64_t line_inside;   /* of an operator behind the begin of a line */
};

/* A call that runs (called.h). */
struct clp_calling {
    struct clp_callee callee;
    uint32_t depth;                /* of its line in the thread's stack */
    uint64_t entered;              /* tells activations at that depth apart */
    const struct clp_cell *cell;   /* the line */
    struct clp_called_cell *called; /* where it counts; NULL: it lies within another call of the line */
    uint64_t self;                 /* the line's self time when the call began, or was looked at last */
};

#define CLP_CALLS_OPEN 32 /* calls within calls of one thread; deeper ones count with these */

/* A suspended body, and where it was suspended. */
struct clp_suspended {
    struct clp_suspended *next_free;
    const void *frame; /* the frame of the body; NULL while the record is free */
    uint32_t function;
    int32_t before;   /* see struct clp_activation */
    bool awaits;      /* its function's waits count */
    size_t line_place; /* of the line's cell in the function's block; 0: the first line has not begun */
    uint64_t carried; /* ticks of the line's execution so far */
    uint64_t since;   /* time of the suspension by the clock itself: threads' own clocks differ */
};

struct clp_activation {
    const void *frame; /* identity of the running body; never dereferenced */
    struct clp_block *block;
    struct clp_cell *cell; /* the cell of the line being executed, or the thread's `outside` */
    uint64_t code;  /* used by tracers: identity of the code that runs; 0 at first */
    bool special;   /* the stay is more than one interval; start, start_.. are set */
    bool continued; /* the stay was suspended; its line event belongs to an earlier activation */
    bool again;     /* the same line already called the same function further down the stack */
    /* Used by tracers: the line of the instruction that was executed last. -1: it has no line; 0: it is on the
     * cell's line. Less than -1: settrace.c, is_of_callee. */
    int32_t before;
    uint64_t start;
    int64_t start_correction;
    int64_t start_rss;
    uint64_t carried;                     /* ticks of this execution before a suspension */
    uint64_t entered;                     /* when the body was entered or resumed */
    int64_t entered_correction;
    int64_t entry_cost;                   /* cost of the entering event, which the first line takes */
    struct clp_suspended *suspended;      /* record of the body's earlier suspension, or NULL */
    struct clp_call *call;                /* the call that entered or resumed the body */
    int64_t entered_rss;
};

/* What the hooks on the allocators keep for a thread. `left` and `random` are atomic: another thread may write
 * there. */
struct clp_allocating {
    int64_t left;    /* bytes until the next block is chosen for the table of live blocks */
    uint64_t random; /* state of the random numbers; 0: none was drawn yet */
    uint32_t level;  /* of that block (heap/heap.h) */
    uint32_t busy;   /* not 0: in the allocator, or at the profiler's own work; nothing is counted */
};

/* A thread's processor time at its last read (waiting.h). */
struct clp_waiting {
    uint64_t at;     /* the clock itself; 0: it was not read yet */
    uint64_t used;   /* processor time, ticks */
    uint64_t queued; /* time in the run queue at its last read, ticks */
    int64_t open;    /* waiting that no line has been given; negative: more processor time than time. Ticks */
};

/* What a thread's tensors had allocated when an execution of a line began (tensors.h). */
struct clp_tensor_mark {
    const struct clp_cell *cell;
    uint64_t start; /* of the execution, on the thread's own clock */
    int64_t balance[CLP_DEVICES];
};

#define CLP_TENSOR_MARKS 32 /* of the innermost activations; lines further out keep the peaks that they have */

/* What a thread keeps of tensors (tensors.h). Threads that work for this one write here, too. */
struct clp_tensor_use {
    int64_t balance[CLP_DEVICES];  /* all that was allocated less all that was freed, bytes */
    struct clp_device_cell *sent;  /* for whose line other threads work; NULL: they never did, or it has none */
    int64_t base[CLP_DEVICES];     /* the balance when that line sent them .. */
    uint64_t high[CLP_DEVICES];    /* .. and the most by which it was exceeded since, as they have seen it */
    struct clp_tensor_mark marks[CLP_TENSOR_MARKS]; /* of the activation at depth n: [n % CLP_TENSOR_MARKS] */
};

/* A thread's counters. Thread and stack come from the pool, so that a reader of the pool's chunks finds the
 * lines that were being executed when the process died. */
struct clp_thread {
    struct clp_area area;
    struct clp_activation *top; /* clp_engine_top says who may read it without the interpreter's lock */
    uint64_t last;          /* time of the thread's last event, on its own clock */
    uint64_t stopped;       /* ticks that its own clock has stood still */
    int64_t correction;     /* charges for all its events so far, 1/256 ticks */
    int64_t line_cost;      /* cost of a line event, 1/256 ticks */
    int64_t line_ticks;     /* cost of a line event, in whole ticks */
    int64_t leave_ticks;    /* cost of a line event and of the leaving that ends the line, in whole ticks */
    int64_t suspend_ticks;  /* cost of a line event and of the suspension that ends the line, in whole ticks */
    struct clp_cost enter, leave, suspend, resume; /* copies of engine->costs */
    /* For `return x`, `before` is what the line is charged (its work, and no line event), `after` what its
     * caller's line is. */
    struct clp_cost last_line;
    uint64_t read_span;     /* copy of clp_engine_read_span(engine) */
    uint32_t usage;         /* resident size at the last read, in CLP_USAGE_UNIT bytes */
    bool broken;            /* ran out of memory once; records nothing more */
    bool unhooked;          /* used by tracers: the next event must do what could not be done before */
    bool traced;            /* used by tracers: the thread had a trace function at its last event */
    bool ended;             /* clp_engine_end_thread was called; the thread may be reaped */
    uint32_t group;         /* number in engine->groups; 0: nobody named the thread */
    /* Resident bytes by this thread's own changes alone, as of its last read and its last event. */
    int64_t rss, last_rss;
    struct clp_engine *engine;
    struct clp_block **blocks; /* by function number; NULL for a function that never ran here */
    size_t block_room;
    struct clp_activation *stack; /* [0] is the floor */
    struct clp_activation *last_activation; /* the last one that `stack` has room for */
    size_t stack_room;
    struct clp_cell outside; /* the cell outside all lines; `open` is never 0, which keeps it off the hot path */
    uint64_t reads;
    struct clp_allocating allocating;
    uint64_t changes; /* engine->changes at this thread's last read */
    /* Bytes that this thread's reads left open (resident.h), less the open bytes that its reads took. */
    int64_t others_grown, others_released;
    struct clp_gc_cell gc_outside; /* garbage collections outside all lines */
    struct clp_gc_cell gc_early;   /* those in the body on top, whose first line has not begun */
    struct clp_waiting waiting;
    uint64_t mark; /* when an operator began, or when the last call or operator ended (called.h); own clock */
    uint32_t calling_count;
    struct clp_calling calling[CLP_CALLS_OPEN]; /* the innermost last */
    /* The system's tallies of this thread at the last read. Of what it has read, the profiler's own part is left out. */
    int64_t tallies[CLP_TALLY_COUNTER];
    int64_t own_read; /* used by tracers: bytes of this part */
    uint32_t tallied; /* used by tracers: what `tallies` are about */
    int number; /* used by tracers: the system's number of the thread */
    struct clp_tensor_use tensors;
    struct clp_thread_use use; /* used by tracers: what the system said of the thread */
    uint64_t use_at; /* when `use` was asked for */
    struct clp_ranges *ranges; /* used by tracers: owned; NULL: it has none */
    struct clp_thread *next;
};

struct clp_ways;
struct clp_views;

/* The size of the head of a stack's area. The activations start behind it, on the next cache line. */
#define CLP_STACK_HEAD 64

/* A change of resident size that a read saw, and that no thread has taken yet. */
struct clp_rss_change {
    uint64_t number;
    int64_t bytes;
    int64_t idle; /* of `bytes`, those that were taken by threads in which nothing selected ran */
};

#define CLP_OPEN_CHANGES 16 /* when there are more, the oldest is dropped: it remains a change by other threads */

/* How many ticks the quickest of the recent reads of something took, and the quickest of those that came
 * after them. */
struct clp_read_cost {
    uint64_t least, next;
    uint32_t count; /* reads that `next` is about */
};

/* The garbage collection that runs (garbage.h); the interpreter has one at a time. */
struct clp_collection {
    bool running;
    struct clp_thread *thread; /* in which it runs; NULL: one without counters */
    uint64_t start;            /* time by the clock itself */
    size_t depth;              /* of the thread's stack at the start */
    const struct clp_cell *cell; /* the line on top at the start; and until then .. */
    uint64_t self;               /* .. its self time .. */
    uint64_t wait, queue;        /* .. and its waiting, as far as it was read */
};

struct clp_engine {
    struct clp_mem *mem; /* borrowed */
    struct clp_functions functions;
    struct clp_pool pool;
    struct clp_calls calls;
    struct clp_costs costs;
    struct clp_around_costs around;
    struct clp_callee_names callee_names;
    uint32_t parts; /* what is counted besides times, a sum of enum clp_part */
    uint64_t rss_span; /* memory is not read after fewer ticks, in which none can have changed */
    uint64_t cpu_span; /* processor time is not read after fewer ticks (waiting.h); UINT64_MAX: never */
    uint64_t pace_span;  /* the pace is not looked at after fewer ticks (recorder/pace.h); UINT64_MAX: never */
    uint64_t pace_next;  /* ticks: when to look at it again; UINT64_MAX: never */
    uint64_t tally_span; /* tallies are not read after fewer ticks (tallies.h); UINT64_MAX: never */
    /* Every event takes the slow way, as if something was read for it: */
    bool logs_lines; /* its line is logged */
    bool has_ranges; /* ranges follow it */
    uint64_t wait_noise; /* ticks of waiting that a read may be wrong by */
    int64_t rss;       /* resident bytes at the last read of any thread */
    bool knows_rss;    /* has any thread read yet? */
    struct clp_read_cost read_cost;
    uint64_t changes;  /* number of changes that were seen while there were several threads */
    int64_t others;    /* bytes of these changes that no thread took */
    struct clp_rss_change open[CLP_OPEN_CHANGES]; /* the oldest first */
    size_t open_count;
    struct clp_thread *threads;
    struct clp_thread *ended; /* counters of reaped threads, one per group, made when needed */
    struct clp_ways *ways; /* of code that is counted without events (ways.h) */
    struct clp_hashmap ways_of; /* function -> the first of its struct clp_ways */
    bool ways_unknown; /* ways_of has not all, for want of memory */
    struct clp_way_counters *way_counters; /* those that have room; NULL: none were made, or they are gone */
    const struct clp_views *views; /* borrowed: who wants to know what they count; NULL: all of it is wanted */
    size_t ways_kept, ways_new; /* how many were left when all were settled, and how many have been made since */
    struct clp_thread *counted; /* what they count, of all threads; in `threads`; NULL: nothing yet */
    struct clp_groups groups; /* empty: threads are not told apart */
    struct clp_hashmap suspended; /* frame -> struct clp_suspended */
    struct clp_suspended *free_suspended;
    struct clp_hashmap parked; /* stacks that do not run, by their owner */
    struct clp_collection collection;
    struct clp_gc_cell gc_before; /* collections from before the first thread had counters */
    struct clp_tensors_outside *tensors; /* NULL without CLP_PART_DEVICES */
    bool lost; /* some activation was not recorded because memory ran out */
};

#endif
