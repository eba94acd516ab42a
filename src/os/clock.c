/* SPDX-License-Identifier: MIT */
#include "clock.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define RATE_SPAN_NANOS 200000u
#define RATE_READINGS (1u << 20) /* of the system's clock while so much time passes: more than it takes anywhere */
#define PAIR_TRIES 5

static uint64_t read_system(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clp_clock_monotonic(void)
{
    return read_system(CLOCK_MONOTONIC);
}

uint64_t clp_clock_wall_nanos(void)
{
    return read_system(CLOCK_REALTIME);
}

double clp_clock_wall(void)
{
    return (double)read_system(CLOCK_REALTIME) * 1e-9;
}

/* A counter that stops in sleep or drifts between sockets is worse than a slow clock. The kernel has watched
 * the counter since boot, so the kernel's choice of clock decides. "tsc-early" is no choice yet. */
bool clp_clock_trusts(const char *source)
{
#if defined(__x86_64__)
    return strcmp(source, "tsc") == 0;
#elif defined(__aarch64__)
    (void)source;
    return true; /* the architecture wants it to run at one rate in all processors, and the kernel mends those where it
                  * does not */
#else
    (void)source;
    return false;
#endif
}

/* Reads the name of the kernel's clock source; "" where /sys does not have it. */
static void read_source(char *name, size_t room)
{
    FILE *file = fopen(CLOCK_SOURCE, "re");
    size_t count = file != NULL ? fread(name, 1, room - 1, file) : 0;

    if (file != NULL)
        fclose(file);
    name[count] = 0;
    name[strcspn(name, "\n")] = 0;
}

/* Reads both clocks at about the same moment. Of a few tries it takes the one in which the counter's readings
 * before and after the system's clock lie closest together. */
static void read_pair(uint64_t *ticks, uint64_t *nanos)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < PAIR_TRIES; i++) {
        uint64_t before = clp_clock_counter();
        uint64_t middle = clp_clock_monotonic();
        uint64_t after = clp_clock_counter();
        if (after - before >= best)
            continue;
        best = after - before;
        *ticks = before + best / 2;
        *nanos = middle;
    }
}

static double rate_since(uint64_t start_ticks, uint64_t start_nanos)
{
    uint64_t ticks = 0, nanos = 0;

    read_pair(&ticks, &nanos);
    if (ticks <= start_ticks || nanos <= start_nanos)
        return 0;
    return (double)(nanos - start_nanos) / (double)(ticks - start_ticks);
}

/* Waits for RATE_SPAN_NANOS. False: the system's clock does not get there, as a library such as libfaketime has it stand
 * still or creep. */
static bool wait_for_span(uint64_t start)
{
    for (unsigned i = 0; i < RATE_READINGS; i++)
        if (clp_clock_monotonic() - start >= RATE_SPAN_NANOS)
            return true;
    return false;
}

struct clp_clock clp_clock_start_monotonic(void)
{
    uint64_t now = clp_clock_monotonic();

    return (struct clp_clock){.rough_nanos = 1, .start_ticks = now, .start_nanos = now};
}

struct clp_clock clp_clock_start(void)
{
    struct clp_clock clock = {.counter = true};
    char source[64];

    read_source(source, sizeof source);
    if (!clp_clock_trusts(source))
        return clp_clock_start_monotonic();
    read_pair(&clock.start_ticks, &clock.start_nanos);
    if (wait_for_span(clock.start_nanos))
        clock.rough_nanos = rate_since(clock.start_ticks, clock.start_nanos);
    if (clock.rough_nanos <= 0)
        return clp_clock_start_monotonic();
    return clock;
}

double clp_clock_nanos_per_tick(const struct clp_clock *clock)
{
    if (!clock->counter)
        return 1;
    double rate = rate_since(clock->start_ticks, clock->start_nanos);
    return rate > 0 ? rate : clock->rough_nanos;
}
