/* SPDX-License-Identifier: MIT */
/* The clock of every event: the processor's own counter where the kernel itself keeps time by it (x86-64
 * TSC, aarch64 CNTVCT), CLOCK_MONOTONIC otherwise. A read is one instruction or one call. On aarch64 a tick is
 * often 8 to 40 ns, so what a line takes is known from its sum only.
 *
 * Ticks become nanoseconds at the end, by the ratio of both clocks over the whole run: the longer the run, the
 * more exact. */
#ifndef CLP_CLOCK_H
#define CLP_CLOCK_H

#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

struct clp_clock {
    bool counter;         /* the processor's counter, not the system call */
    double rough_nanos;   /* nanoseconds per tick, good to about 1 in 1,000, known at once */
    uint64_t start_ticks; /* both clocks, read together by clp_clock_start */
    uint64_t start_nanos;
};

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t clp_clock_monotonic(void);

/* Nanoseconds since 1970, and seconds. */
uint64_t clp_clock_wall_nanos(void);
double clp_clock_wall(void);

/* Chooses the clock and takes its first reading. Takes about 0.2 ms where it must measure the
 * counter's rate. Takes CLOCK_MONOTONIC if that stands still: the counter's rate is not known then. Cannot fail. */
struct clp_clock clp_clock_start(void);

/* Does the kernel keep time by the processor's counter? `source` is the name of its clock source, as the kernel
 * tells it; "" where it does not. */
bool clp_clock_trusts(const char *source);

/* Takes the first reading of CLOCK_MONOTONIC, whatever the kernel trusts. Cannot fail. */
struct clp_clock clp_clock_start_monotonic(void);

/* Nanoseconds per tick as measured from the start until now. */
double clp_clock_nanos_per_tick(const struct clp_clock *clock);

static inline uint64_t clp_clock_counter(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

/* How many ticks so many nanoseconds are, by the rate that was known at the start. */
static inline uint64_t clp_clock_ticks(const struct clp_clock *clock, double nanos)
{
    return (uint64_t)(nanos / clock->rough_nanos);
}

static inline uint64_t clp_clock_read(const struct clp_clock *clock)
{
    if (CLP_LIKELY(clock->counter))
        return clp_clock_counter();
    return clp_clock_monotonic();
}

#endif
