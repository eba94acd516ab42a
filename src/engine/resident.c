/* SPDX-License-Identifier: MIT */
#include "resident.h"
#include "hot.h"
#include <stdlib.h>
#include <string.h>

/* Notes the size of the process. `own` is the part of its change that the thread did itself. */
static void set_rss(struct clp_thread *thread, int64_t rss, int64_t own)
{
    thread->engine->rss = rss;
    thread->changes = thread->engine->changes;
    thread->usage = rss > 0 ? (uint32_t)(rss / CLP_USAGE_UNIT) : 0;
    thread->rss += own;
}

static void leave_open(struct clp_thread *thread, int64_t bytes)
{
    struct clp_engine *engine = thread->engine;

    engine->others += bytes;
    if (bytes > 0)
        thread->others_grown += bytes;
    else
        thread->others_released -= bytes;
    if (engine->open_count == CLP_OPEN_CHANGES)
        memmove(engine->open, engine->open + 1, --engine->open_count * sizeof *engine->open);
    engine->open[engine->open_count++] = (struct clp_rss_change){++engine->changes, bytes, 0};
}

void clp_engine_begin_rss(struct clp_thread *thread, int64_t rss)
{
    struct clp_engine *engine = thread->engine;

    if (engine->knows_rss && rss != engine->rss)
        leave_open(thread, rss - engine->rss);
    engine->knows_rss = true;
    set_rss(thread, rss, rss);
    thread->last_rss = rss;
    thread->read_span = clp_engine_read_span(engine);
}

void clp_engine_set_rss_span(struct clp_engine *engine, uint64_t ticks)
{
    engine->rss_span = ticks;
    clp_engine_spread_spans(engine);
}

/* A read takes some ten times as long when the caches have lost its code and data. A thread that waits for the
 * processor waits for milliseconds. */
#define LONGEST_READ 16
#define READS_OF_LATE 64

uint64_t clp_read_cost_of(struct clp_read_cost *cost, uint64_t ticks)
{
    if (ticks < cost->least || cost->least == 0)
        cost->least = ticks;
    if (ticks < cost->next || cost->count == 0)
        cost->next = ticks;
    if (++cost->count == READS_OF_LATE) { /* from time to time begin anew: reads may have become slower for good */
        cost->least = cost->next;
        cost->count = 0;
    }
    return ticks / LONGEST_READ <= cost->least ? ticks : cost->least;
}

static void take_rss(struct clp_thread *thread, int64_t rss, int64_t own)
{
    set_rss(thread, rss, own);
    if (thread->rss != thread->last_rss)
        clp_engine_make_special(thread);
}

void clp_engine_note_rss(struct clp_thread *thread, int64_t rss)
{
    take_rss(thread, rss, rss - thread->engine->rss);
}

/* Must the thread have done this release itself, since the other threads cannot give back what they do not
 * hold? `now`: the release was seen just now. */
static bool is_own_release(const struct clp_engine *engine, const struct clp_rss_bounds *bounds,
                           uint64_t bytes, bool now)
{
    if (bytes <= bounds->released)
        return true;
    return now && (bounds->ran_through || (bounds->never_waited && engine->others < 0));
}

/* How much of the change the thread can have done. Memory comes page by page, but goes block by block, so a
 * release is taken as a whole. */
static int64_t part_within(const struct clp_engine *engine, const struct clp_rss_change *change,
                           struct clp_rss_bounds *bounds, bool now)
{
    uint64_t bytes = (uint64_t)llabs(change->bytes);

    if (change->bytes > 0) {
        bytes = bytes < bounds->grown ? bytes : bounds->grown;
        bounds->grown -= bytes;
        return (int64_t)bytes;
    }
    if (!is_own_release(engine, bounds, bytes, now))
        return 0;
    bounds->released -= bytes < bounds->released ? bytes : bounds->released;
    return change->bytes;
}

/* Gives this part of a change to the thread. Returns how much of it the thread takes as its own change. Bytes
 * that no thread had taken before are taken off those that count as other threads' changes. In a thread in
 * which nothing selected runs, the part stays open, as `idle`. */
static int64_t take_part(struct clp_thread *thread, struct clp_rss_change *change, int64_t part)
{
    int64_t *others = change->bytes > 0 ? &thread->others_grown : &thread->others_released;
    int64_t left = change->bytes - change->idle;
    int64_t taken = llabs(part) < llabs(left) ? part : left;

    *others -= llabs(taken);
    thread->engine->others -= taken;
    if (thread->top == thread->stack) {
        change->idle += taken;
        return 0;
    }
    change->bytes -= part;
    change->idle -= part - taken;
    return part;
}

/* Takes the open changes that the thread can have done, the oldest first, because the fewest other threads can
 * claim it. */
static int64_t take_open(struct clp_thread *thread, struct clp_rss_bounds bounds, uint64_t before)
{
    struct clp_engine *engine = thread->engine;
    size_t kept = 0;
    int64_t sum = 0;

    for (size_t i = 0; i < engine->open_count; i++) {
        struct clp_rss_change change = engine->open[i];
        if (change.number > thread->changes)
            sum += take_part(thread, &change,
                             part_within(engine, &change, &bounds, change.number > before));
        if (change.bytes != 0)
            engine->open[kept++] = change;
    }
    engine->open_count = kept;
    return sum;
}

void clp_engine_share_rss(struct clp_thread *thread, int64_t rss, struct clp_rss_bounds bounds)
{
    struct clp_engine *engine = thread->engine;
    uint64_t before = engine->changes;

    if (rss != engine->rss)
        leave_open(thread, rss - engine->rss);
    take_rss(thread, rss, take_open(thread, bounds, before));
}

void clp_engine_take_up_rss(struct clp_engine *engine, int64_t rss, uint64_t span)
{
    clp_engine_set_rss_span(engine, span);
    engine->rss = rss;
    engine->knows_rss = true;
    engine->open_count = 0;
    for (struct clp_thread *thread = engine->threads; thread != NULL; thread = thread->next)
        thread->changes = engine->changes;
}
