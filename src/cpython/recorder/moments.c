/* SPDX-License-Identifier: MIT */
#include "moments.h"
#include "cpu_time.h"
#include "line_log.h"
#include "own_work.h"
#include "pace.h"
#include "program_counters.h"
#include "ranges.h"
#include "tally_reads.h"
#include "tensor_reads.h"
#include "engine/parts.h"
#include "os/processes.h"
#include "cpython/memory/hooks.h"

/* Memory is not read for a line that took less than this part of the quickest change of a single page that was
 * ever seen: no change can have happened in it. At the start the processor may still be at rest, or busy with
 * other work, and become quicker soon. So the quickest change is tried again after 20 ms of the program, and
 * then each time twice as late. Only after the first such try is the part a large one. */
#define CHANGE_MARGIN_AT_START 0.6
#define CHANGE_MARGIN 0.85
#define FIRST_CHECK_NANOS 20e6

/* How old a thread's page faults and processor time may be at the start of a line. The second number holds
 * while the process has no other thread. */
#define FRESH_NANOS 8000
#define FRESH_NANOS_ALONE 512000

static bool has_memory(const struct clp_recorder *recorder)
{
    return (recorder->engine.parts & CLP_PART_MEMORY) != 0;
}

static uint64_t rss_span(const struct clp_recorder *recorder)
{
    double quickest = (double)recorder->memory_check.change_ticks;

    return has_memory(recorder) ? (uint64_t)(quickest * recorder->change_margin) : UINT64_MAX;
}

uint64_t clp_recorder_rss_span(const struct clp_recorder *recorder)
{
    return recorder->reading != 0 ? rss_span(recorder) : UINT64_MAX;
}

static void set_release(struct clp_recorder *recorder)
{
    recorder->reach.release_nanos = recorder->memory_check.release_ticks * recorder->clock.rough_nanos;
}

static void set_reach(struct clp_recorder *recorder)
{
    double nanos_per_tick = recorder->clock.rough_nanos;

    recorder->reach = (struct clp_rss_bounds_facts){
        .page = recorder->proc.page_bytes,
        .fault = clp_proc_fault_bytes(),
        .huge = clp_proc_huge_page(),
    };
    set_release(recorder);
    recorder->use_span = (uint64_t)(FRESH_NANOS / nanos_per_tick);
    recorder->use_span_alone = (uint64_t)(FRESH_NANOS_ALONE / nanos_per_tick);
}

bool clp_recorder_open_memory(struct clp_recorder *recorder, enum clp_memory memory)
{
    if (recorder->proc.file >= 0 && recorder->proc.mode == memory)
        return true;
    clp_proc_close(&recorder->proc);
    if (clp_proc_open(&recorder->proc, memory) != CLP_OK)
        return true; /* there is no memory to be read */
    recorder->memory_check = clp_proc_check(&recorder->proc, &recorder->clock);
    recorder->change_margin = CHANGE_MARGIN_AT_START;
    recorder->check_gap = clp_clock_ticks(&recorder->clock, FIRST_CHECK_NANOS);
    recorder->check_at = clp_clock_read(&recorder->clock) + recorder->check_gap;
    set_reach(recorder);
    if (!clp_engine_add_parts(&recorder->engine, CLP_PART_MEMORY)) {
        PyErr_NoMemory();
        return false;
    }
    recorder->engine.rss_span = clp_recorder_rss_span(recorder); /* reads would spoil the calibration that comes next */
    (void)clp_hooks_install();
    return true;
}

/* The profiler's own part of the memory that is counted. The live file's pages belong to a file, so they are no
 * anonymous memory; but this process alone has them. */
static uint64_t own_bytes(const struct clp_recorder *recorder)
{
    uint64_t bytes = recorder->pages.bytes + recorder->view_pages.bytes + clp_line_log_bytes(recorder);

    if (recorder->proc.mode == CLP_MEMORY_ANON)
        bytes -= recorder->pages.filed;
    if (recorder->heap != NULL)
        bytes += __atomic_load_n(&recorder->heap->pages.bytes, __ATOMIC_RELAXED);
    for (size_t i = 0; i < sizeof recorder->helpers / sizeof *recorder->helpers; i++)
        if (recorder->helpers[i] != NULL)
            bytes += __atomic_load_n(&recorder->helpers[i]->bytes, __ATOMIC_RELAXED);
    return bytes;
}

/* Reads the program's memory as it is counted, and how much of it belongs to files. */
static bool read_memory(const struct clp_recorder *recorder, int64_t *rss, uint64_t *shared)
{
    struct clp_resident now;

    if (!has_memory(recorder) || clp_proc_read(&recorder->proc, &now) != CLP_OK)
        return false;
    if (clp_thread_here != NULL)
        clp_thread_here->own_read += (int64_t)now.text;
    *rss = (int64_t)now.counted - (int64_t)own_bytes(recorder);
    if (recorder->proc.mode == CLP_MEMORY_TREE)
        *rss += (int64_t)clp_processes_resident_below();
    *shared = now.shared;
    return true;
}

bool clp_recorder_see_memory(struct clp_recorder *recorder, int64_t *rss)
{
    return read_memory(recorder, rss, &recorder->file_bytes);
}

/* Begins or ends reading. Changes while nobody read belong to no line. */
static void set_reading(struct clp_recorder *recorder, uint64_t span)
{
    int64_t rss = recorder->engine.rss;
    uint64_t start = clp_clock_read(&recorder->clock);

    /* noted, so that a slow first read of a line is known to be one */
    if (span != UINT64_MAX && read_memory(recorder, &rss, &recorder->file_bytes))
        (void)clp_read_cost_of(&recorder->engine.read_cost, clp_clock_read(&recorder->clock) - start);
    clp_engine_take_up_rss(&recorder->engine, rss, span);
}

void clp_recorder_begin_reading(struct clp_recorder *recorder)
{
    if (recorder->reading++ == 0)
        set_reading(recorder, rss_span(recorder));
}

void clp_recorder_end_reading(struct clp_recorder *recorder)
{
    if (--recorder->reading == 0)
        set_reading(recorder, UINT64_MAX);
}

void clp_recorder_reopen_memory(struct clp_recorder *recorder)
{
    enum clp_memory mode = recorder->proc.mode;

    if (recorder->proc.file < 0)
        return;
    clp_proc_close(&recorder->proc);
    (void)clp_proc_open(&recorder->proc, mode);
    /* The next check of the quickest change is put off, because it takes a while. */
    recorder->check_at = clp_clock_read(&recorder->clock) + recorder->check_gap;
    if (recorder->reading != 0)
        set_reading(recorder, rss_span(recorder));
}

/* What the thread has used since the last call. Its processor time is at most the time that has passed. */
static struct clp_thread_use take_use(struct clp_thread *thread, uint64_t now)
{
    struct clp_thread_use before = thread->use, *use = &thread->use;
    uint64_t passed = (uint64_t)((double)(now - thread->use_at) *
                                 clp_recorder_of(thread)->clock.rough_nanos);

    clp_thread_get_use(use);
    thread->use_at = now;
    uint64_t nanos = use->nanos - before.nanos;
    return (struct clp_thread_use){.faults = use->faults - before.faults,
                                   .waits = use->waits - before.waits,
                                   .preemptions = use->preemptions - before.preemptions,
                                   .nanos = nanos < passed ? nanos : passed};
}

void clp_recorder_begin_use(struct clp_thread *thread, uint64_t now)
{
    (void)take_use(thread, now);
    clp_cpu_time_begin(thread);
    clp_tally_reads_skip(thread);
}

/* Notes a size, in a process with several threads. Where nothing has changed there is nothing to share. Then
 * short lines are not each asked what they used; so a little too much of the thread's next change may be taken
 * for its own. */
static void share_rss(const struct clp_recorder *recorder, struct clp_thread *thread, int64_t rss,
                      uint64_t of_files, uint64_t now)
{
    if (clp_engine_is_settled(thread, rss) && now - thread->use_at < recorder->use_span)
        return;
    struct clp_thread_use use = take_use(thread, now);
    clp_engine_share_rss(thread, rss, clp_rss_bounds_of(&recorder->reach, &use, of_files));
}

/* Tries again how quickly memory can change. What that takes is left out of what the thread uses. */
static void check_again(struct clp_recorder *recorder, struct clp_thread *thread, uint64_t now)
{
    recorder->check_gap *= 2;
    recorder->check_at = now + recorder->check_gap;
    clp_proc_check_again(&recorder->proc, &recorder->clock, &recorder->memory_check);
    if (clp_thread_alone()) /* nothing held it up */
        recorder->change_margin = CHANGE_MARGIN;
    set_release(recorder);
    clp_engine_set_rss_span(&recorder->engine, rss_span(recorder));
    (void)take_use(thread, now);
}

/* Notes a size, in a process with one thread. The thread's page faults must be known, and not too old, as soon
 * as a line starts a second thread. Its processor time is not asked for: on a busy machine the thread would
 * lose the processor again and again behind lines after which it is asked, and those would seem long. */
static void note_rss_alone(struct clp_recorder *recorder, struct clp_thread *thread, int64_t rss,
                           uint64_t now)
{
    clp_engine_note_rss(thread, rss);
    if (now - thread->use_at < recorder->use_span_alone)
        return;
    clp_thread_get_counts(&thread->use);
    thread->use_at = now;
}

static bool wants_work_beside(const struct clp_recorder *recorder, const struct clp_thread *thread, uint64_t now)
{
    return now >= recorder->check_at || (recorder->watch != NULL && clp_watch_wants(recorder->watch, thread));
}

/* Reads memory for an event at `now`. */
static void read_rss(struct clp_recorder *recorder, struct clp_thread *thread, uint64_t now)
{
    uint64_t files = recorder->file_bytes;
    bool many_files = recorder->proc.mode == CLP_MEMORY_TREE;
    int64_t rss;

    if (many_files)
        clp_tally_reads_note(thread);
    if (!read_memory(recorder, &rss, &recorder->file_bytes))
        rss = recorder->engine.rss;
    if (many_files)
        clp_tally_reads_skip(thread);
    /* nobody knows which thread a child process belongs to: the first line that sees its change is charged */
    if (clp_thread_alone() || many_files)
        note_rss_alone(recorder, thread, rss, now);
    else
        share_rss(recorder, thread, rss,
                  recorder->file_bytes > files ? recorder->file_bytes - files : 0, now);
    thread->reads++;
}

/* Work of the profiler's own has taken `passed` ticks, of which `cost` are its cost. The event is later by the rest. */
static void put_off(struct clp_moment *moment, uint64_t passed, uint64_t cost)
{
    moment->now += passed - cost;
    moment->still += cost;
}

static void end_work(const struct clp_recorder *recorder, struct clp_own_work work, struct clp_moment *moment)
{
    uint64_t cost = clp_own_work_take(recorder, work);

    put_off(moment, clp_clock_read(&recorder->clock) - work.start, cost);
}

/* Something was read from `start` until now. Its cost is what such a read usually takes, at most. */
static void end_read(const struct clp_recorder *recorder, struct clp_read_cost *usual, uint64_t start,
                     struct clp_moment *moment)
{
    uint64_t ticks = clp_clock_read(&recorder->clock) - start;

    put_off(moment, ticks, clp_read_cost_of(usual, ticks));
}

/* Does what is done from time to time beside a read. */
static void work_beside(struct clp_recorder *recorder, struct clp_thread *thread, uint64_t now,
                        struct clp_moment *moment)
{
    struct clp_own_work work = clp_own_work_begin(recorder);

    if (now >= recorder->check_at)
        check_again(recorder, thread, now);
    if (recorder->watch != NULL)
        clp_watch_read(recorder->watch, thread, now);
    end_work(recorder, work, moment);
}

static void read_tallies(struct clp_recorder *recorder, struct clp_thread *thread, struct clp_moment *moment)
{
    uint64_t length = clp_engine_since_last(thread, moment->now), start = clp_clock_read(&recorder->clock);

    if (length >= recorder->source_span) {
        clp_tally_reads_note(thread);
        end_read(recorder, &recorder->tally_cost, start, moment);
    }
    if (clp_program_counters_note(thread, length) | clp_tensor_reads_note(thread, length, start))
        moment->still++; /* so that clp_recorder_end_slow is called */
}

static void read_cpu(struct clp_recorder *recorder, struct clp_thread *thread, struct clp_moment *moment)
{
    uint64_t start = clp_clock_read(&recorder->clock), waited = clp_cpu_time_read(thread);

    end_read(recorder, &recorder->cpu_cost, start, moment);
    if (CLP_LIKELY(waited == 0))
        return;
    start = clp_clock_read(&recorder->clock);
    clp_cpu_time_read_queue(thread, waited);
    end_read(recorder, &recorder->queue_cost, start, moment);
}

void clp_recorder_see_waiting(struct clp_recorder *recorder, struct clp_thread *thread)
{
    struct clp_moment moment = {0};

    if (recorder->with_cpu == 0)
        return;
    read_cpu(recorder, thread, &moment);
    clp_engine_stand_still(thread, moment.still);
}

static void look_at_pace(struct clp_recorder *recorder, struct clp_moment *moment)
{
    uint64_t start = clp_clock_read(&recorder->clock), cost = clp_pace_look(recorder);

    put_off(moment, clp_clock_read(&recorder->clock) - start, cost);
}

struct clp_moment clp_recorder_read(struct clp_recorder *recorder, struct clp_thread *thread, uint64_t now)
{
    struct clp_moment moment = {.now = now};

    if (CLP_UNLIKELY(thread->unhooked)) {
        struct clp_own_work work = clp_own_work_begin(recorder);
        clp_greenlet_place_hook(&recorder->greenlets, thread);
        end_work(recorder, work, &moment);
        if (!clp_engine_wants_read(thread, now))
            return moment;
    }
    if (CLP_UNLIKELY(__atomic_load_n(&recorder->greenlets.ended, __ATOMIC_RELAXED)))
        clp_greenlet_place_remind(&recorder->greenlets);
    if (clp_engine_wants_tallies(thread, now))
        read_tallies(recorder, thread, &moment);
    if (clp_engine_wants_rss(thread, now)) {
        now = moment.still != 0 ? clp_clock_read(&recorder->clock) : now;
        read_rss(recorder, thread, now);
        end_read(recorder, &recorder->engine.read_cost, now, &moment);
        if (CLP_UNLIKELY(wants_work_beside(recorder, thread, now)))
            work_beside(recorder, thread, now, &moment);
    }
    if (CLP_UNLIKELY(clp_pace_is_due(recorder, now)))
        look_at_pace(recorder, &moment);
    if (clp_engine_wants_cpu(thread, moment.now)) /* the last: the line has waited for what made the event later */
        read_cpu(recorder, thread, &moment);
    if (CLP_UNLIKELY(recorder->engine.logs_lines))
        clp_line_log_expect(recorder, thread);
    if (CLP_UNLIKELY(recorder->engine.logs_lines || recorder->engine.has_ranges))
        moment.still++; /* so that clp_recorder_end_slow is called */
    return moment;
}

/* Leaves the time of what runs Python code out of all lines, except for events that it caused itself. Behind a read
 * the caches no longer hold this code, so what is left of the event takes some 50 ns more; that is left out, too. If it
 * is longer than the read, the thread waits for the processor, and the line has that time. */
void clp_recorder_end_slow(struct clp_thread *thread, uint64_t still)
{
    struct clp_recorder *recorder = clp_recorder_of(thread);
    bool ran = recorder->engine.logs_lines && clp_line_log_note(recorder, thread);
    uint64_t waited = 0;
    bool waits = clp_program_counters_read(thread, &waited);

    waits |= clp_tensor_reads_read(thread);
    clp_engine_stand_still(thread, still);
    if (CLP_UNLIKELY(recorder->watch != NULL) && recorder->blocks.walks == 0)
        waits |= clp_watch_recorded(recorder->watch);
    if (CLP_UNLIKELY(recorder->engine.has_ranges)) {
        clp_ranges_follow(thread);
        ran = true;
    }
    if (waits) /* Python code may wait for anything */
        clp_cpu_time_skip(thread, waited);
    ran |= waits;
    uint64_t rest = clp_engine_since_last(thread, clp_clock_read(&recorder->clock));
    if (ran || rest < still)
        clp_engine_stand_still(thread, rest - waited);
}
