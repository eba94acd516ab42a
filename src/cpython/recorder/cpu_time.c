/* SPDX-License-Identifier: MIT */
#include "cpu_time.h"
#include "engine/resident.h"
#include <unistd.h>

/* Shorter lines hardly wait, and reading would make them much longer. A read takes 0.2 to 0.4 us. Where it takes
 * longer, as in some sandboxes, lines must be longer, too. */
#define LEAST_NANOS 2000
#define LONGER_THAN_READ 8
#define NOISE_NANOS 1000
/* The run queue is read for lines that have waited this long, because the file takes 3 us or more. */
#define QUEUE_NANOS 50000
#define MOST_QUEUE_READS 3

/* Reads several times, so that it is known what a read takes usually. Returns what the quickest took, in ticks. */
static uint64_t try_reads(struct clp_recorder *recorder)
{
    for (int i = 0; i < 8; i++) {
        uint64_t nanos, start = clp_clock_read(&recorder->clock);
        (void)clp_thread_cpu_nanos();
        uint64_t middle = clp_clock_read(&recorder->clock);
        recorder->with_queue = clp_thread_queue_nanos(&nanos) != 0;
        (void)clp_read_cost_of(&recorder->cpu_cost, middle - start);
        (void)clp_read_cost_of(&recorder->queue_cost, clp_clock_read(&recorder->clock) - middle);
    }
    return recorder->cpu_cost.least;
}

bool clp_cpu_time_start(struct clp_recorder *recorder)
{
    if (clp_thread_cpu_nanos() == 0)
        return false;
    if (recorder->with_cpu++ != 0)
        return true;
    uint64_t least = clp_clock_ticks(&recorder->clock, LEAST_NANOS), by_read = LONGER_THAN_READ * try_reads(recorder);
    clp_engine_set_cpu_span(&recorder->engine, least > by_read ? least : by_read, clp_clock_ticks(&recorder->clock, NOISE_NANOS));
    if (clp_thread_here != NULL)
        clp_cpu_time_begin(clp_thread_here);
    return true;
}

void clp_cpu_time_stop(struct clp_recorder *recorder)
{
    if (--recorder->with_cpu == 0)
        clp_engine_set_cpu_span(&recorder->engine, UINT64_MAX, 0);
}

static void note_queue(struct clp_thread *thread, uint64_t waited)
{
    const struct clp_recorder *recorder = clp_recorder_of(thread);
    uint64_t nanos;
    size_t bytes = recorder->with_queue ? clp_thread_queue_nanos(&nanos) : 0;

    thread->own_read += (int64_t)bytes;
    if (bytes != 0)
        clp_waiting_note_queue(thread, clp_clock_ticks(&recorder->clock, (double)nanos), waited);
}

void clp_cpu_time_begin(struct clp_thread *thread)
{
    thread->number = gettid();
    if (clp_recorder_of(thread)->with_cpu == 0)
        return;
    thread->waiting = (struct clp_waiting){0};
    (void)clp_cpu_time_read(thread);
    note_queue(thread, 0);
}

/* Notes the processor time of a thread; 0: it could not be read. */
static uint64_t note(struct clp_thread *thread, uint64_t nanos)
{
    const struct clp_recorder *recorder = clp_recorder_of(thread);

    if (nanos == 0)
        return 0;
    return clp_waiting_note(thread, clp_clock_read(&recorder->clock), clp_clock_ticks(&recorder->clock, (double)nanos));
}

uint64_t clp_cpu_time_read(struct clp_thread *thread)
{
    return note(thread, clp_thread_cpu_nanos());
}

void clp_cpu_time_skip(struct clp_thread *thread, uint64_t waited)
{
    const struct clp_recorder *recorder = clp_recorder_of(thread);

    if (recorder->with_cpu != 0)
        clp_waiting_skip(thread, clp_clock_read(&recorder->clock) - waited,
                         clp_clock_ticks(&recorder->clock, (double)clp_thread_cpu_nanos()));
}

void clp_cpu_time_look(struct clp_recorder *recorder)
{
    for (struct clp_thread *thread = recorder->engine.threads; thread != NULL; thread = thread->next) {
        if (!__atomic_load_n(&thread->ended, __ATOMIC_ACQUIRE))
            (void)note(thread, clp_thread_cpu_nanos_of(thread->number));
    }
}

void clp_cpu_time_read_queue(struct clp_thread *thread, uint64_t waited)
{
    double least = QUEUE_NANOS / clp_recorder_of(thread)->clock.rough_nanos;

    /* The system may take the processor away as soon as it is asked. The line has waited for that, too. */
    for (int i = 0; i < MOST_QUEUE_READS && (double)waited >= least; i++) {
        note_queue(thread, waited);
        waited = clp_cpu_time_read(thread);
    }
}
