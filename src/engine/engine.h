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
 * Memory counts as time does, by stays and by intervals: resident.h. Bodies and whole stacks that are in no
 * thread just now: suspended.h, stacks.h. Threads: threads.h, reaping.h.
 *
 * Not synchronised: one thread at a time, the one that holds the interpreter's lock. It may take other threads'
 * activations off their stacks. Only clp_engine_end_thread and clp_engine_top need no lock. */
#ifndef CLP_ENGINE_H
#define CLP_ENGINE_H

#include "engine_state.h"
#include "hot.h"
#include "os/pages.h"

void clp_engine_init(struct clp_engine *engine, struct clp_mem *mem, struct clp_pages *pages);
void clp_engine_clear(struct clp_engine *engine);

/* Leaves everything that is still on the thread's stack, as if it returned now. */
void clp_engine_unwind(struct clp_thread *thread, uint64_t now);

/* Is a body of the function on any thread's stack, or on one that is kept? */
bool clp_engine_runs(const struct clp_engine *engine, uint32_t function);

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

/* Takes the body on top off the stack as if it were suspended; what it has counted is complete
 * then. False: there is none. */
bool clp_engine_take_down(struct clp_thread *thread, struct clp_suspended *place, uint64_t now);

/* Puts a body on top that goes on at its line. NULL: not recorded. */
struct clp_activation *clp_engine_put_back(struct clp_thread *thread,
                                           const struct clp_suspended *place, uint64_t now);

/* clp_engine_line where the stay that ends is no plain one. */
void clp_engine_line_special(struct clp_thread *thread, size_t place, uint64_t at);

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

#endif
