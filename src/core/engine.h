/* SPDX-License-Identifier: MIT */
/* The engine turns events into measures. It asks nobody anything: time, resident bytes and the
 * identity of a running body are arguments, so a unit test, a text fixture and CPython drive the
 * same code.
 *
 * A tracer, for each event of a selected function, in the thread in which it happens:
 *
 *     now = the clock
 *     if (clp_engine_wants_rss(thread, now)) { thread->rss = resident bytes; later = the clock }
 *     clp_engine_enter | line | leave | suspend | resume (thread, .., now)
 *     if memory was read: clp_engine_stand_still(thread, later - now)
 *
 * The stack. Activations of a thread form a stack; thread->top is the innermost and stack[0] a
 * floor that no body ever is, so every activation has a parent. An activation whose first line has
 * not begun has no cell of its own: its `cell` is the thread's `outside`, a bin.
 *
 * Time. Each thread has a clock that stops while memory is read (`stopped`). Two sums share every
 * interval between two events: `self` of the line on top gets the interval since the last event;
 * `time` of a line gets the whole stay, from its beginning to its end, when it ends. `open` of a
 * cell counts selected callees entered from it: while it is not zero, an outer execution of the
 * same line is still going on and will bring the whole, so the inner ones add nothing.
 *
 * Correction. What an event itself costs, known from calibration, is added to the thread's running
 * `correction`, half of it before the interval ends and half after; each line takes the difference
 * between its beginning and its end, exactly as it does with time.
 *
 * Memory. The same two sums over resident bytes. A read is skipped when too little time has passed
 * since the thread's last event for a single page fault; the next read carries the difference.
 *
 * Suspension. A generator's activation leaves the stack when it suspends and is kept under its
 * frame's address, in no thread: it may resume in another one.
 *
 * Not synchronised: one thread at a time, the one that holds the interpreter's lock. */
#ifndef CLP_ENGINE_H
#define CLP_ENGINE_H

#include "functions.h"
#include "hashmap.h"
#include "lines.h"
#include "mem.h"
#include "status.h"
#include <stdbool.h>
#include <stdint.h>

#define CLP_CORRECTION_ONE 256 /* corrections count 1/256 ticks */

/* What one event of each kind costs the program, in 1/256 ticks; zero until calibrated. */
struct clp_costs {
    uint64_t line, enter, leave, suspend, resume;
    uint64_t foreign; /* an event of a function that is not selected (settrace has them) */
};

struct clp_activation {
    const void *frame; /* identity of the running body, never dereferenced */
    struct clp_block *block;
    struct clp_cell *cell; /* of the line being executed, or the thread's `outside` */
    uint32_t line;         /* its index in the block */
    uint64_t start, start_correction;     /* when the line began or resumed */
    int64_t start_rss;
    uint64_t carried;                     /* ticks of this execution before a suspension */
    uint64_t entered, entered_correction; /* when the body was entered or resumed */
    struct clp_suspended *suspended;      /* its record of an earlier suspension, or NULL */
    bool off_line; /* for a tracer that sees instructions: the last one belonged to no line */
};

struct clp_thread {
    struct clp_activation *top;
    struct clp_engine *engine;
    uint64_t last, last_correction; /* at the thread's last event, on its own clock */
    int64_t last_rss;
    uint64_t stopped;    /* ticks its clock has stood still */
    uint64_t correction; /* running total, 1/256 ticks */
    int64_t rss;         /* resident bytes at the last read */
    struct clp_block **blocks; /* by function number; NULL where it never ran here */
    size_t block_room;
    struct clp_activation *stack; /* [0] is the floor */
    size_t stack_room;
    struct clp_cell outside;
    uint64_t reads;
    bool broken;         /* out of memory once: records nothing more */
    volatile bool ended; /* the system's thread is gone; may be reaped */
    struct clp_thread *next;
};

struct clp_engine {
    struct clp_mem *mem; /* borrowed */
    struct clp_functions functions;
    struct clp_pool pool;
    struct clp_costs costs;
    bool with_rss;
    uint64_t rss_span; /* ticks below which no memory can have changed */
    struct clp_thread *threads;
    struct clp_thread *ended; /* counters of reaped threads; made when first needed */
    struct clp_hashmap suspended;
    struct clp_suspended *free_suspended;
    bool lost; /* some activation was not recorded for want of memory */
};

void clp_engine_init(struct clp_engine *engine, struct clp_mem *mem, struct clp_pages *pages);
void clp_engine_clear(struct clp_engine *engine);

/* Counters for a new thread, owned by the engine; NULL when there is no memory. `now` starts its
 * clock, `rss` is the resident size then (0 without memory). */
struct clp_thread *clp_engine_new_thread(struct clp_engine *engine, uint64_t now, int64_t rss);

/* Merges the counters of threads that have ended into engine->ended and frees them. */
void clp_engine_reap(struct clp_engine *engine);

/* Leaves everything that is still on the thread's stack, as if it returned now. */
void clp_engine_unwind(struct clp_thread *thread, uint64_t now);

/* A body of the function begins. */
void clp_engine_enter(struct clp_thread *thread, uint32_t function, const void *frame,
                      uint64_t now);

/* The body on top is left for good, by return or by an exception. */
void clp_engine_leave(struct clp_thread *thread, uint64_t now);

/* The body on top yields or awaits. */
void clp_engine_suspend(struct clp_thread *thread, uint64_t now);

/* A suspended body goes on, maybe in another thread. Without a record of it, it is entered. */
void clp_engine_resume(struct clp_thread *thread, uint32_t function, const void *frame,
                       uint64_t now);

/* Puts this body on top when an event shows that it is not there: exits that no event told of are
 * made up for; a body that was running before it was selected is entered. False when out of
 * memory: drop the event. */
bool clp_engine_align(struct clp_thread *thread, uint32_t function, const void *frame,
                      uint64_t now);

/* Is this body on the thread's stack? */
bool clp_engine_is_running(const struct clp_thread *thread, const void *frame);

/* The profiler itself worked for this many ticks since the last event's `now`: they are nobody's. */
static inline void clp_engine_stand_still(struct clp_thread *thread, uint64_t ticks)
{
    thread->stopped += ticks;
}

/* Has the thread counters for this function yet? The first entry makes them, which takes time. */
static inline bool clp_engine_has_block(const struct clp_thread *thread, uint32_t function)
{
    return function < thread->block_room && thread->blocks[function] != NULL;
}

static inline bool clp_engine_wants_rss(const struct clp_thread *thread, uint64_t now)
{
    return now - thread->stopped - thread->last >= thread->engine->rss_span;
}

/* The interval since the last event belongs to the line on top. */
static inline void clp_engine_flush_self(struct clp_thread *thread, uint64_t at)
{
    struct clp_activation *top = thread->top;

    top->cell->self += at - thread->last;
    top->cell->self_correction += thread->correction - thread->last_correction;
    thread->last = at;
    thread->last_correction = thread->correction;
    if (CLP_UNLIKELY(thread->rss != thread->last_rss)) {
        if (top->cell != &thread->outside)
            top->block->rss[top->line].self_increment += thread->rss - thread->last_rss;
        thread->last_rss = thread->rss;
    }
}

void clp_engine_note_rss_change(struct clp_rss_cell *cell, int64_t change);

/* The line on top has ended, or its body is suspended: its stay counts unless an outer execution
 * of the same line will bring it. */
static inline void clp_engine_end_stay(struct clp_thread *thread, uint64_t at)
{
    struct clp_activation *top = thread->top;
    struct clp_cell *cell = top->cell;
    struct clp_rss_cell *rss = top->block->rss;

    if (rss != NULL && thread->rss > rss[top->line].usage)
        rss[top->line].usage = thread->rss;
    if (CLP_UNLIKELY(cell->open != 0))
        return;
    uint64_t ticks = at - top->start;
    uint64_t correction = thread->correction - top->start_correction;
    cell->time += ticks;
    cell->time_correction += correction;
    correction /= CLP_CORRECTION_ONE;
    top->carried += ticks > correction ? ticks - correction : 0;
    if (top->carried > cell->max)
        cell->max = top->carried;
    if (CLP_UNLIKELY(thread->rss != top->start_rss))
        clp_engine_note_rss_change(&rss[top->line], thread->rss - top->start_rss);
}

/* Line `line` of the file begins in the body on top, which the tracer has made sure is the running
 * one. A line that the function does not have is dropped. */
static inline void clp_engine_line(struct clp_thread *thread, int32_t line, uint64_t now)
{
    struct clp_activation *top = thread->top;
    uint32_t index = (uint32_t)line - (uint32_t)top->block->lowest_line;
    uint64_t at = now - thread->stopped;
    uint64_t half = thread->engine->costs.line / 2;

    if (CLP_UNLIKELY(index >= top->block->line_count))
        return;
    thread->correction += half;
    if (CLP_LIKELY(top->cell != &thread->outside)) {
        clp_engine_flush_self(thread, at);
        clp_engine_end_stay(thread, at);
        top->start = at;
        top->start_correction = thread->correction;
        top->start_rss = thread->rss;
        top->carried = 0;
    } /* else the first line takes what has passed since the body was entered */
    top->cell = &top->block->cells[index];
    top->cell->hits++;
    top->line = index;
    thread->correction += half;
}

#endif
