/* SPDX-License-Identifier: MIT */
#include "tally_reads.h"
#include "engine/parts.h"
#include "engine/resident.h"
#include <string.h>

/* A line that does any of what is counted makes a system call, or has the system do something. The quickest calls of
 * Python that do so take 0.4 us, and reading the sources takes 0.2 to 0.7 us. Where system calls take longer, so do the
 * lines that make them. What a still shorter line does is counted at the next longer line. */
#define LEAST_NANOS 300
#define PART_OF_READ 2
#define SOURCES 3

/* All that the sources tell of the calling thread. */
static void read_sources(struct clp_recorder *recorder, struct clp_thread *thread, int64_t *values)
{
    struct clp_io io;

    if (recorder->tallies & (CLP_TALLY_SOURCE_FAULTS | CLP_TALLY_SOURCE_SWITCHES)) {
        struct clp_thread_use use = {0};
        clp_thread_get_counts(&use);
        values[CLP_TALLY_FAULTS] = (int64_t)use.faults;
        values[CLP_TALLY_MAJOR_FAULTS] = (int64_t)use.major;
        values[CLP_TALLY_SWITCHES] = (int64_t)use.waits;
        values[CLP_TALLY_PREEMPTIONS] = (int64_t)use.preemptions;
    }
    if (!(recorder->tallies & CLP_TALLY_SOURCE_IO))
        return;
    if (!clp_io_read(&recorder->io, &io)) {
        recorder->io_failed = true;
        return;
    }
    values[CLP_TALLY_READ] = (int64_t)io.read - thread->own_read;
    values[CLP_TALLY_WRITTEN] = (int64_t)io.written;
    values[CLP_TALLY_DISK_READ] = (int64_t)io.disk_read;
    values[CLP_TALLY_DISK_WRITTEN] = (int64_t)io.disk_written;
    thread->own_read += (int64_t)io.text;
}

/* Reads for `cell`, which may be NULL. What is not read now changes nothing. */
static void note_for(struct clp_thread *thread, struct clp_tally_cell *cell)
{
    struct clp_recorder *recorder = clp_recorder_of(thread);
    int64_t values[CLP_TALLY_COUNTER];

    if (thread->tallied != recorder->tallies) { /* the thread has run while nobody counted */
        thread->tallied = recorder->tallies;
        cell = NULL;
    }
    memcpy(values, thread->tallies, sizeof values);
    read_sources(recorder, thread, values);
    clp_tallies_note(cell, (enum clp_tally)0, CLP_TALLY_COUNTER, values, thread->tallies);
}

void clp_tally_reads_note(struct clp_thread *thread)
{
    if (clp_recorder_of(thread)->tallies != 0)
        note_for(thread, clp_tallies_of_top(thread));
}

void clp_tally_reads_skip(struct clp_thread *thread)
{
    if (clp_recorder_of(thread)->tallies != 0)
        note_for(thread, NULL);
}

void clp_tally_reads_set_span(struct clp_recorder *recorder)
{
    uint64_t span = clp_clock_ticks(&recorder->clock, LEAST_NANOS), by_read = recorder->tally_cost.least / PART_OF_READ;
    uint64_t others = recorder->counter_span < recorder->tensor_span ? recorder->counter_span : recorder->tensor_span;

    span = span < by_read ? by_read : span;
    recorder->source_span = recorder->tallies != 0 ? span : UINT64_MAX;
    clp_engine_set_tally_span(&recorder->engine, recorder->source_span < others ? recorder->source_span : others);
}

/* Sees what a read takes, and lets the calling thread's changes count from now on. */
static void begin_anew(struct clp_recorder *recorder)
{
    struct clp_thread nobody = {.engine = &recorder->engine};

    recorder->tally_cost = (struct clp_read_cost){0};
    for (int i = 0; i < 8 && recorder->tallies != 0; i++) {
        uint64_t start = clp_clock_read(&recorder->clock);
        note_for(&nobody, NULL);
        (void)clp_read_cost_of(&recorder->tally_cost, clp_clock_read(&recorder->clock) - start);
    }
    if (clp_thread_here != NULL)
        clp_tally_reads_skip(clp_thread_here);
    clp_tally_reads_set_span(recorder);
}

uint32_t clp_tally_reads_start(struct clp_recorder *recorder, uint32_t sources)
{
    uint32_t before = recorder->tallies;
    struct clp_io io;

    if ((sources & CLP_TALLY_SOURCE_IO) && !clp_io_read(&recorder->io, &io))
        sources -= CLP_TALLY_SOURCE_IO;
    if (sources == 0 || !clp_engine_add_parts(&recorder->engine, CLP_PART_TALLIES))
        return 0;
    for (size_t i = 0; i < SOURCES; i++)
        recorder->with_tallies[i] += sources >> i & 1;
    recorder->tallies |= sources;
    if (recorder->tallies != before)
        begin_anew(recorder);
    return sources;
}

void clp_tally_reads_stop(struct clp_recorder *recorder, uint32_t sources)
{
    uint32_t before = recorder->tallies;

    for (size_t i = 0; i < SOURCES; i++) {
        if ((sources >> i & 1) && --recorder->with_tallies[i] == 0)
            recorder->tallies -= 1u << i;
    }
    if (!(recorder->tallies & CLP_TALLY_SOURCE_IO))
        clp_io_close(&recorder->io);
    if (recorder->tallies != before)
        begin_anew(recorder);
}
