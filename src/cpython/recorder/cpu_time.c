/* SPDX-License-Identifier: MIT */
#include "cpu_time.h"

/* Shorter lines hardly wait, and reading would make them much longer. A read takes 0.2 to 0.4 us. Where it takes
 * longer, as in some sandboxes, lines must be longer, too. */
#define LEAST_NANOS 2000
#define LONGER_THAN_READ 8
#define NOISE_NANOS 1000
/* The run queue is read for lines that have waited this long, because the file takes 3 us or more. */
#define QUEUE_NANOS 50000

static uint64_t ticks_of(const struct clp_recorder *recorder, uint64_t nanos)
{
    return (uint64_t)((double)nanos / recorder->clock.rough_nanos);
}

/* How long the quickest of some reads takes, in ticks. */
static uint64_t quickest_read(const struct clp_recorder *recorder)
{
    uint64_t quickest = UINT64_MAX;

    for (int i = 0; i < 8; i++) {
        uint64_t start = clp_clock_read(&recorder->clock);
        (void)clp_thread_cpu_nanos();
        uint64_t took = clp_clock_read(&recorder->clock) - start;
        quickest = took < quickest ? took : quickest;
    }
    return quickest;
}

bool clp_cpu_time_start(struct clp_recorder *recorder)
{
    uint64_t least = ticks_of(recorder, LEAST_NANOS), by_read = LONGER_THAN_READ * quickest_read(recorder), queued;

    if (clp_thread_cpu_nanos() == 0)
        return false;
    if (recorder->with_cpu++ != 0)
        return true;
    recorder->with_queue = clp_thread_queue_nanos(&queued);
    clp_engine_set_cpu_span(&recorder->engine, least > by_read ? least : by_read, ticks_of(recorder, NOISE_NANOS));
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

    if (recorder->with_queue && clp_thread_queue_nanos(&nanos))
        clp_waiting_note_queue(thread, ticks_of(recorder, nanos), waited);
}

void clp_cpu_time_begin(struct clp_thread *thread)
{
    if (clp_recorder_of(thread)->with_cpu == 0)
        return;
    thread->waiting = (struct clp_waiting){0};
    (void)clp_cpu_time_read(thread);
    note_queue(thread, 0);
}

uint64_t clp_cpu_time_read(struct clp_thread *thread)
{
    const struct clp_recorder *recorder = clp_recorder_of(thread);
    uint64_t nanos = clp_thread_cpu_nanos();

    if (nanos == 0)
        return 0;
    return clp_waiting_note(thread, clp_clock_read(&recorder->clock), ticks_of(recorder, nanos));
}

uint64_t clp_cpu_time_read_queue(struct clp_thread *thread, uint64_t waited)
{
    const struct clp_recorder *recorder = clp_recorder_of(thread);
    uint64_t start = clp_clock_read(&recorder->clock);

    if ((double)waited * recorder->clock.rough_nanos < QUEUE_NANOS)
        return 0;
    note_queue(thread, waited);
    return clp_clock_read(&recorder->clock) - start;
}
