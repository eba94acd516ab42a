/* SPDX-License-Identifier: MIT */
/* The engine turns events into measures. It asks nobody anything: time, resident bytes and the identity of a
 * running body are arguments. So a unit test, a text fixture and CPython drive the same code.
 *
 * A tracer does this for each event of a selected function, in the thread in which the event happens:
 *
 *     now = the clock
 *     if (clp_engine_wants_read(thread, now)) {
 *         if (clp_engine_wants_rss(thread, now)) clp_engine_note_rss(thread, resident bytes)
 *                                                or clp_engine_share_rss
 *         if (clp_engine_wants_cpu(thread, now)) clp_waiting_note(thread, the clock, processor time)
 *         later = the clock }
 *     clp_engine_enter | line | leave | suspend | resume (thread, .., now)
 *     if something was read: clp_engine_stand_still(thread, later - now)
 *
 * The stack. The activations of a thread form a stack. thread->top is the innermost one. stack[0] is a floor
 * that is never a body, so every activation has a parent. An activation whose first line has not begun has no
 * cell of its own: its `cell` is the thread's `outside`, a cell that no report shows.
 *
 * Time. Each thread has a clock of its own, which stops while memory is read (`stopped` counts how long). An
 * interval is the time between two events. It is `self` time of the line on top. The inclusive time of a line
 * is its self time and the whole of each callee that is entered from the line; a callee's time is added when
 * the callee is left. A cell's `open` counts the callees that were entered from it and not yet left. While
 * `open` is not 0, an outer execution of the same line is still going on. Its callee will add its whole time,
 * which contains the inner executions. So inner executions subtract from `nested` what they add to `self`.
 *
 * Stays. A stay is one execution of a line in one activation. Nearly every stay is plain: a single interval, in
 * which the line calls nothing selected and memory stays as it is. The hot path counts such a stay in one step.
 * Whatever makes a stay more than one interval sets `special` and notes where the stay began; its largest time
 * and its change of memory are computed when it ends.
 *
 * Correction. Calibration measures what an event itself costs. A part of the cost lies before the event's
 * reading of the clock, in the interval that ends there. The other part lies after the reading, in the next
 * interval. Nearly all intervals begin and end with a line event. So a line is charged one whole line event per
 * hit: the second part of its own event and the first part of the next one. Where its interval begins or ends
 * with another kind of event, the line is charged the difference, which may be negative. Each thread keeps a
 * running sum of all charges. The charges of a callee are the difference of that sum between the callee's end
 * and its beginning, exactly as with time.
 *
 * The last line. `return x` is one event: the line begins and the body is left at one reading of the clock, so
 * the line has no interval. It is charged no line event. It is given what its instructions take (`work`), which
 * is subtracted from the caller's line, in whose interval the instructions run.
 *
 * Memory counts as time does, by stays and by intervals: see resident.h. For waiting see waiting.h. suspended.h and
 * stacks.h keep the bodies and whole stacks that are in no thread at the moment. threads.h and reaping.h keep the
 * threads.
 *
 * Not synchronised: one thread at a time may call the engine, the one that holds the interpreter's lock. That
 * thread may take activations off other threads' stacks. Only clp_engine_end_thread and clp_engine_top need no
 * lock. */
#ifndef CLP_ENGINE_H
#define CLP_ENGINE_H

#include "engine_state.h"
#include "hot.h"
#include "os/pages.h"

void clp_engine_init(struct clp_engine *engine, struct clp_mem *mem, struct clp_pages *pages);
void clp_engine_clear(struct clp_engine *engine);

/* Leaves every body on the thread's stack, as if each returned now. */
void clp_engine_unwind(struct clp_thread *thread, uint64_t now);

/* Is a body of the function on any thread's stack, or on a stack that is kept for later (stacks.h)? */
bool clp_engine_runs(const struct clp_engine *engine, uint32_t function);

/* A body of the function begins. `frame` may be NULL for a body that is never suspended, if the tracer tells of
 * each exit of it. Returns its activation, borrowed until the next event, or NULL when it could not be
 * recorded. */
struct clp_activation *clp_engine_enter(struct clp_thread *thread, uint32_t function,
                                        const void *frame, uint64_t now);

/* The body on top is left for good, by a return or by an exception. */
void clp_engine_leave(struct clp_thread *thread, uint64_t now);

/* A line begins and the body on top is left, both in one event. */
void clp_engine_last_line(struct clp_thread *thread, int32_t line, uint64_t now);

/* The body on top yields or awaits. */
void clp_engine_suspend(struct clp_thread *thread, uint64_t now);

/* A suspended body continues, maybe in another thread. A body that the engine does not know as suspended is
 * entered. Returns what clp_engine_enter returns. */
struct clp_activation *clp_engine_resume(struct clp_thread *thread, uint32_t function,
                                         const void *frame, uint64_t now);

/* Makes sure that this body is on top, for a tracer that has an event of a body which is not. Bodies above it
 * are left: no event told of their exits. A body that is not on the stack (it was running before it was
 * selected) is entered. Returns what clp_engine_enter returns; after NULL the tracer must drop the event. */
struct clp_activation *clp_engine_align(struct clp_thread *thread, uint32_t function,
                                        const void *frame, uint64_t now);

/* Is this body on the thread's stack? */
bool clp_engine_is_running(const struct clp_thread *thread, const void *frame);

/* Did this body leave the stack last of all? Serves a tracer that is told of an exit twice. */
static inline bool clp_engine_left_last(const struct clp_thread *thread, const void *frame)
{
    const struct clp_activation *popped = thread->top + 1;

    return popped < thread->stack + thread->stack_room && popped->frame == frame;
}

/* Takes the profiler's own work, which lasted `ticks` since the last event's `now`, out of the thread's time. */
static inline void clp_engine_stand_still(struct clp_thread *thread, uint64_t ticks)
{
    thread->stopped += ticks;
}

/* Takes the body on top off the stack as if it were suspended, and describes it in *place. What the body has
 * counted is then complete. False: the stack is empty. */
bool clp_engine_take_down(struct clp_thread *thread, struct clp_suspended *place, uint64_t now);

/* Puts a body that clp_engine_take_down has taken off back on top, at its line. NULL: the body is not recorded. */
struct clp_activation *clp_engine_put_back(struct clp_thread *thread,
                                           const struct clp_suspended *place, uint64_t now);

/* Does what clp_engine_line does where the stay that ends is not plain. `place` and `at` as in
 * clp_engine_line_plain. */
void clp_engine_line_special(struct clp_thread *thread, size_t place, uint64_t at);

/* The line `line` of the file begins in the body on top. The tracer has made sure that the body on top is the
 * one that runs. A line that the function does not have is dropped. */
static inline void clp_engine_line(struct clp_thread *thread, int32_t line, uint64_t now)
{
    uint32_t cell = clp_engine_find_cell(thread, line);
    uint64_t at = now - thread->stopped;

    if (CLP_LIKELY(cell != CLP_NO_CELL) &&
        CLP_UNLIKELY(!clp_engine_line_plain(thread, clp_block_place(cell), at)))
        clp_engine_line_special(thread, clp_block_place(cell), at);
}

#endif
