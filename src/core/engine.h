/* SPDX-License-Identifier: MIT */
/* The engine turns events into measures. It asks nobody anything: time, resident bytes and the
 * identity of a running body are arguments, so a unit test, a text fixture and CPython drive the
 * same code.
 *
 * A tracer, for each event of a selected function, in the thread in which it happens:
 *
 *     now = the clock
 *     if (clp_engine_wants_rss(thread, now)) { clp_engine_note_rss(thread, resident bytes)
 *                                              or clp_engine_share_rss; later = the clock; }
 *     clp_engine_enter | line | leave | suspend | resume (thread, .., now)
 *     if memory was read: clp_engine_stand_still(thread, later - now)
 *
 * The stack. Activations of a thread form a stack; thread->top is the innermost and stack[0] a
 * floor that no body ever is, so every activation has a parent. An activation whose first line has
 * not begun has no cell of its own: its `cell` is the thread's `outside`, a bin.
 *
 * Time. Each thread has a clock that stops while memory is read (`stopped`). Every interval between
 * two events is `self` time of the line on top. Inclusive time is that and the whole of each callee
 * entered from the line, added when the callee is left. `open` of a cell counts callees entered from
 * it: while it is not zero, an outer execution of the same line is still going on and its callee
 * brings the whole, so what the inner ones add to `self` they take off again from `nested`.
 *
 * Plain stays. Nearly every execution of a line is one interval: it calls nothing selected, memory
 * stays as it is. The hot path adds it once. Whatever makes a stay more than that sets `special` and
 * keeps where it began: its largest time and its change of memory are known when it ends.
 *
 * Correction. What an event itself costs is known from calibration: a part of it lies before its
 * reading of the clock, in the interval that ends there, and a part behind it, in the next one. Nearly
 * all intervals begin and end with a line event, so a line is charged one whole line event per hit, the
 * second part of its own and the first part of the next. Where its interval begins or ends with another
 * event, it is charged the difference, which may be negative. The sum so far is running per thread, so
 * a callee takes the difference between its end and its beginning, exactly as it does with time.
 *
 * The last line. `return x` is one event: the line begins and the body is left at one reading, so the
 * line has no interval. It is charged no line event and given what its instructions take, `work`, which
 * is taken off the caller's line, in whose interval they run.
 *
 * Memory. The same two sums over resident bytes. A read is skipped when too little time has passed
 * since the thread's last event for a single page fault; the next read carries the difference.
 *
 * Several threads. Resident size belongs to the process: the engine keeps it as last seen, and each
 * thread the sum of what it takes for its own. A thread that reads takes what it can have done
 * itself (struct clp_reach); the rest stays open, for threads whose last read lies further back:
 * their doing may be in it. What nobody takes is the other threads'. A thread in which nothing
 * selected runs has mostly been on its own for long, and could take anything: what it takes is no
 * other thread's, but stays open too.
 *
 * Suspension. A generator's activation leaves the stack when it suspends and is kept under its
 * frame's address, in no thread: it may resume in another one.
 *
 * Several stacks. Where the program switches between stacks of its own within a thread (greenlets),
 * all of a stack suspends and is kept under whoever it belongs to until that goes on.
 *
 * Not synchronised: one thread at a time, the one that holds the interpreter's lock. It may take other threads'
 * activations off their stacks. Only clp_engine_end_thread needs no lock. */
#ifndef CLP_ENGINE_H
#define CLP_ENGINE_H

#include "functions.h"
#include "groups.h"
#include "hashmap.h"
#include "lines.h"
#include "mem.h"
#include "status.h"
#include "thread.h"
#include <stdbool.h>
#include <stdint.h>

#define CLP_CORRECTION_ONE 256 /* corrections count 1/256 ticks */

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

/* What the allocator's hooks keep of a thread. */
struct clp_allocating {
    int64_t left;    /* bytes to the next block that is chosen for the table of live blocks */
    uint64_t random; /* 0: nothing was drawn yet */
    uint32_t busy;   /* in the allocator, or at work that is the profiler's own: not counted */
};

/* A thread and its stack come from the pool: whoever reads its chunks when the process is gone finds
 * the lines that were being executed. */
struct clp_thread {
    struct clp_area area;
    struct clp_activation *top;
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

void clp_engine_init(struct clp_engine *engine, struct clp_mem *mem, struct clp_pages *pages);
void clp_engine_clear(struct clp_engine *engine);

/* Frees all threads and what they counted; functions and records of suspended bodies stay. */
void clp_engine_clear_threads(struct clp_engine *engine);

/* What events cost; to be said before the first one. Zero until this is called. */
void clp_engine_set_costs(struct clp_engine *engine, const struct clp_costs *costs);

/* So many ticks are too few for any change of memory: reads are skipped by that in every thread. */
void clp_engine_set_rss_span(struct clp_engine *engine, uint64_t ticks);

/* Counters for a new thread, owned by the engine; NULL when there is no memory. `now` starts its
 * clock, `rss` is the resident size then (0 without memory). */
struct clp_thread *clp_engine_new_thread(struct clp_engine *engine, uint64_t now, int64_t rss);

/* Makes the thread's stack hold `room` activations, the floor among them. False: no memory, and all
 * is as it was. */
bool clp_engine_reserve(struct clp_thread *thread, size_t room);

/* Merges the counters of threads that have ended into those of their group in engine->ended, and frees
 * them. */
void clp_engine_reap(struct clp_engine *engine);

/* Leaves everything that is still on the thread's stack, as if it returned now. */
void clp_engine_unwind(struct clp_thread *thread, uint64_t now);

/* Is a body of the function on any thread's stack, or on one that is kept? */
bool clp_engine_runs(const struct clp_engine *engine, uint32_t function);

/* Sums over all threads, those that have ended too. */
struct clp_engine_totals {
    int64_t correction; /* 1/256 ticks */
    uint64_t stopped;   /* ticks */
    uint64_t reads;
    int64_t others_grown, others_released;
};

void clp_engine_sum(const struct clp_engine *engine, struct clp_engine_totals *totals);

/* What a damaged live file says of many threads may not fit into a sum: it is wrong then, and no more. */
static inline void clp_engine_add_total(int64_t *sum, int64_t value)
{
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)value);
}

/* Resident memory is read from now on: every block gets room for it. Once; false: no memory, some
 * have it, and it may be tried again. */
bool clp_engine_add_rss(struct clp_engine *engine);

/* Memory was not read for a while, and is `rss` now; what changed meanwhile is nobody's. `span` is the
 * engine's rss_span from now on, UINT64_MAX when reading ends. */
void clp_engine_take_up_rss(struct clp_engine *engine, int64_t rss, uint64_t span);

/* A body of the function begins; `frame` may be NULL for one that is never suspended, if a tracer
 * tells of each of its exits. Its activation, borrowed until the next event; NULL when it could
 * not be recorded. */
struct clp_activation *clp_engine_enter(struct clp_thread *thread, uint32_t function,
                                        const void *frame, uint64_t now);

/* The body on top is left for good, by return or by an exception. */
void clp_engine_leave(struct clp_thread *thread, uint64_t now);

/* A line begins and the body on top is left, both at once. */
void clp_engine_last_line(struct clp_thread *thread, int32_t line, uint64_t now);

/* The body on top yields or awaits. */
void clp_engine_suspend(struct clp_thread *thread, uint64_t now);

/* A suspended body goes on, maybe in another thread. Without a record of it, it is entered. Returns
 * as clp_engine_enter. */
struct clp_activation *clp_engine_resume(struct clp_thread *thread, uint32_t function,
                                         const void *frame, uint64_t now);

/* The thread goes on with the stack that belongs to `to`; its stack so far is kept under `from`, another
 * one. Neither is dereferenced. A stack that was never kept is empty. */
void clp_engine_switch_stack(struct clp_thread *thread, const void *from, const void *to,
                             uint64_t now);

/* What is kept under this address belonged to somebody who is gone. */
void clp_engine_forget_stack(struct clp_engine *engine, const void *owner);

/* Forgets every stack that is kept. */
void clp_engine_forget_stacks(struct clp_engine *engine);

/* Is a body of the function on a stack that is kept? */
bool clp_engine_is_parked(const struct clp_engine *engine, uint32_t function);

/* Puts this body on top when an event shows that it is not there: exits that no event told of are
 * made up for; a body that was running before it was selected is entered. Returns as
 * clp_engine_enter; NULL: drop the event. */
struct clp_activation *clp_engine_align(struct clp_thread *thread, uint32_t function,
                                        const void *frame, uint64_t now);

/* Is this body on the thread's stack? */
bool clp_engine_is_running(const struct clp_thread *thread, const void *frame);

/* Did this body leave the stack last of all? For a tracer that is told of an exit too many. */
static inline bool clp_engine_left_last(const struct clp_thread *thread, const void *frame)
{
    const struct clp_activation *popped = thread->top + 1;

    return popped < thread->stack + thread->stack_room && popped->frame == frame;
}

/* The profiler itself worked for this many ticks since the last event's `now`: they are nobody's. */
static inline void clp_engine_stand_still(struct clp_thread *thread, uint64_t ticks)
{
    thread->stopped += ticks;
}

/* The system's thread is gone. May be called in it, without the interpreter's lock; it must not touch
 * its counters any more. */
static inline void clp_engine_end_thread(struct clp_thread *thread)
{
    __atomic_store_n(&thread->ended, true, __ATOMIC_RELEASE);
}

/* Has the thread counters for this function yet? The first entry makes them, which takes time. */
static inline bool clp_engine_has_block(const struct clp_thread *thread, uint32_t function)
{
    return function < thread->block_room && thread->blocks[function] != NULL;
}

static inline bool clp_engine_wants_rss(const struct clp_thread *thread, uint64_t now)
{
    return now - thread->stopped - thread->last >= thread->rss_span;
}

/* Something that is no event of a selected function cost the program this much, in 1/256 ticks. */
static inline void clp_engine_add_cost(struct clp_thread *thread, int64_t cost)
{
    struct clp_cell *cell = thread->top->cell;

    thread->correction += cost;
    cell->self_correction += cost;
    if (cell->open != 0) /* the outer execution brings it in the whole of its callee */
        cell->nested_correction -= cost;
}

/* Resident memory was read just before an event, while the process had no other thread. */
void clp_engine_note_rss(struct clp_thread *thread, int64_t rss);

/* What a thread can have done to resident memory since its last read, at most. */
struct clp_reach {
    uint64_t grown, released; /* bytes */
    bool ran_through;  /* it ran all the time: what was released just now was its own */
    bool never_waited; /* the same where the other threads hold less than that */
};

/* Resident memory was read just before an event, while the process had other threads. */
void clp_engine_share_rss(struct clp_thread *thread, int64_t rss, struct clp_reach reach);

/* For a thread that stands for another one: how far its time, what is taken off it, and its memory at
 * the last line have come. */
static inline void clp_engine_copy_clock(struct clp_thread *into, const struct clp_thread *from)
{
    into->last = from->last;
    into->stopped = from->stopped;
    into->correction = from->correction;
    into->usage = from->usage;
}

/* A read took so many ticks: how many of them it cost. Where it took many times as long as others, the
 * system had given the processor to somebody else meanwhile, and the rest is the program's wall time. */
uint64_t clp_engine_read_cost(struct clp_engine *engine, uint64_t ticks);

/* Is there nothing to share: has nothing changed since the thread's last read? */
static inline bool clp_engine_is_settled(const struct clp_thread *thread, int64_t rss)
{
    return rss == thread->engine->rss && thread->changes == thread->engine->changes;
}

/* The line on top, or -1 before the first. */
static inline int32_t clp_engine_current_line(const struct clp_thread *thread)
{
    const struct clp_activation *top = thread->top;

    if (top->cell == &thread->outside)
        return -1;
    return top->block->lowest_line + (int32_t)(top->cell - top->block->cells);
}

/* clp_engine_line where the stay that ends is no plain one. */
void clp_engine_line_special(struct clp_thread *thread, size_t place, uint64_t at);

/* The hot path: the line whose cell lies `place` bytes from the start of the function's block begins
 * in the body on top, `at` on the thread's clock. False when nothing is done, because the stay that
 * ends is no plain one. */
static inline bool clp_engine_line_plain(struct clp_thread *thread, size_t place, uint64_t at)
{
    struct clp_activation *top = thread->top;
    struct clp_cell *cell = top->cell;

    if (CLP_UNLIKELY(top->special || cell->open != 0))
        return false;
    int64_t ticks = (int64_t)(at - thread->last);
    cell->self += (uint64_t)ticks;
    if (ticks - thread->line_ticks > cell->max)
        cell->max = ticks - thread->line_ticks;
    if (thread->usage > cell->usage)
        cell->usage = thread->usage;
    thread->last = at;
    thread->correction += thread->line_cost;
    cell = clp_block_cell(top->block, place);
    cell->hits++;
    top->cell = cell;
    return true;
}

/* Does the function of the body on top have this line? */
static inline bool clp_engine_has_line(const struct clp_thread *thread, int32_t line)
{
    const struct clp_block *block = thread->top->block;

    return (uint32_t)line - (uint32_t)block->lowest_line < block->line_count;
}

/* Line `line` of the file begins in the body on top, which the tracer has made sure is the running
 * one. A line that the function does not have is dropped. */
static inline void clp_engine_line(struct clp_thread *thread, int32_t line, uint64_t now)
{
    uint32_t index = (uint32_t)line - (uint32_t)thread->top->block->lowest_line;
    uint64_t at = now - thread->stopped;

    if (CLP_LIKELY(clp_engine_has_line(thread, line)) &&
        CLP_UNLIKELY(!clp_engine_line_plain(thread, clp_block_place(index), at)))
        clp_engine_line_special(thread, clp_block_place(index), at);
}

/* ---- entering and leaving, where nothing is out of the ordinary ----
 *
 * The same as clp_engine_enter, with the first line, and clp_engine_leave, for bodies that are never
 * suspended, in line, so that they cost no call. False when nothing is done: then those do it. */

/* The stay on top, which was one interval until now, becomes more than that. */
static inline void clp_engine_make_special(struct clp_thread *thread)
{
    struct clp_activation *top = thread->top;
    bool own = top->cell != &thread->outside && !top->continued; /* its line event is part of it */

    if (top->special)
        return;
    top->special = true;
    top->start = thread->last;
    top->start_correction = thread->correction - (own ? thread->line_cost : 0);
    top->start_rss = thread->last_rss;
}

static inline __attribute__((always_inline)) bool
clp_engine_enter_plain(struct clp_thread *thread, struct clp_block *block, uint64_t code,
                       size_t place, uint64_t at)
{
    const struct clp_cost cost = thread->enter;
    struct clp_activation *top = thread->top;
    struct clp_cell *caller = top->cell, *cell = clp_block_cell(block, place);
    uint64_t ticks = at - thread->last;

    if (CLP_UNLIKELY(top == thread->last_room || thread->rss != thread->last_rss))
        return false;
    clp_engine_make_special(thread);
    caller->self += ticks;
    caller->self_correction += cost.before;
    if (caller->open++ != 0) {
        caller->nested -= (int64_t)ticks;
        caller->nested_correction -= cost.before;
    }
    thread->last = at;
    int64_t correction = thread->correction + cost.before;
    thread->correction = correction + cost.after + thread->line_cost;
    thread->top = ++top;
    block->running++;
    top->frame = NULL;
    top->block = block;
    top->cell = cell;
    top->code = code;
    top->special = top->continued = false;
    top->before = 0;
    top->carried = 0;
    top->entered = at;
    top->entered_correction = correction;
    top->suspended = NULL;
    cell->hits++;
    cell->self_correction += cost.after;
    if (cell->open != 0)
        cell->nested_correction -= cost.after;
    return true;
}

/* The body of `left`, which has just been taken off the stack, is a part of its caller's line. */
static inline void clp_engine_bring(struct clp_thread *thread, const struct clp_activation *left,
                                    int64_t correction)
{
    struct clp_cell *caller = thread->top->cell;
    uint64_t total = thread->last - left->entered;

    correction -= left->entered_correction;
    if (--left->block->running == 0) {
        left->block->total += total;
        left->block->total_correction += correction;
    }
    if (--caller->open == 0) {
        caller->nested += (int64_t)total;
        caller->nested_correction += correction;
    }
}

static inline __attribute__((always_inline)) bool
clp_engine_leave_plain(struct clp_thread *thread, uint64_t at)
{
    const struct clp_cost cost = thread->leave;
    struct clp_activation *top = thread->top;
    struct clp_cell *cell = top->cell, *caller = (top - 1)->cell;
    int64_t ticks = (int64_t)(at - thread->last);

    if (CLP_UNLIKELY(top->special || top->suspended != NULL || cell == &thread->outside))
        return false;
    cell->self += (uint64_t)ticks;
    cell->self_correction += cost.before;
    thread->last = at;
    if (cell->open != 0) {
        cell->nested -= ticks;
        cell->nested_correction -= cost.before + thread->line_cost;
    } else if (ticks - thread->leave_ticks > cell->max) {
        cell->max = ticks - thread->leave_ticks;
    }
    if (thread->usage > cell->usage)
        cell->usage = thread->usage;
    thread->top = top - 1;
    clp_engine_bring(thread, top, thread->correction + cost.before);
    thread->correction += cost.before + cost.after;
    caller->self_correction += cost.after;
    if (CLP_UNLIKELY(caller->open != 0))
        caller->nested_correction -= cost.after;
    return true;
}

static inline __attribute__((always_inline)) bool
clp_engine_last_line_plain(struct clp_thread *thread, size_t place, uint64_t at)
{
    const struct clp_activation *left = thread->top;
    const struct clp_cost cost = thread->last_line;

    if (CLP_UNLIKELY(left->suspended != NULL || !clp_engine_line_plain(thread, place, at)))
        return false;
    struct clp_cell *cell = left->cell, *caller = (left - 1)->cell;
    cell->self_correction += cost.before;
    if (cell->open != 0) /* this execution, too, lies within the outer one */
        cell->nested_correction -= thread->line_cost + cost.before;
    if (thread->usage > cell->usage)
        cell->usage = thread->usage;
    thread->top--;
    int64_t correction = thread->correction + cost.before;
    clp_engine_bring(thread, left, correction);
    thread->correction = correction + cost.after;
    caller->self_correction += cost.after;
    if (caller->open != 0)
        caller->nested_correction -= cost.after;
    return true;
}

#endif
