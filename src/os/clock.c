/* SPDX-License-Identifier: MIT */
#include "clock.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define RATE_SPAN_NANOS 200000u
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

double clp_clock_wall(void)
{
    return (double)read_system(CLOCK_REALTIME) * 1e-9;
}

/* A counter that stops in sleep or drifts between sockets is worse than a slow clock. The kernel has watched
 * the counter since boot, so the kernel's choice of clock decides. */
static bool kernel_trusts_counter(void)
{
#if defined(__x86_64__)
    char name[32] = "";
    FILE *file = fopen(CLOCK_SOURCE, "re");

    if (file == NULL)
        return false;
    size_t count = fread(name, 1, sizeof name - 1, file);
    fclose(file);
    name[count] = 0;
    return strncmp(name, "tsc", 3) == 0;
#elif defined(__aarch64__)
    return true; /* the architected timer is the kernel's own clock */
#else
    return false;
#endif
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

struct clp_clock clp_clock_start_monotonic(void)
{
    uint64_t now = clp_clock_monotonic();

    return (struct clp_clock){.rough_nanos = 1, .start_ticks = now, .start_nanos = now};
}

struct clp_clock clp_clock_start(void)
{
    struct clp_clock clock = {.counter = true};

    if (!kernel_trusts_counter())
        return clp_clock_start_monotonic();
    read_pair(&clock.start_ticks, &clock.start_nanos);
    while (clp_clock_monotonic() - clock.start_nanos < RATE_SPAN_NANOS)
        continue;
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
