/* SPDX-License-Identifier: MIT */
/* Prints how long a reading of clineprof's clock takes on this machine, in nanoseconds: alone, one reading after the
 * other, and within other work, as it stands between the instructions of an interpreter. */
#include "os/clock.h"
#include <stdio.h>

#define TURNS 200000
#define ROUNDS 15
#define STEPS 12 /* loads of a turn, each of which needs the one before it: some 15 ns */
#define PLACES 64

static uint64_t places[PLACES], readings;
static struct clp_clock clock_;

/* The nanoseconds of the quickest round of a loop that does `work`. */
#define NANOS_OF(work)                                       \
    ({                                                       \
        uint64_t best = UINT64_MAX;                          \
        for (int round = 0; round < ROUNDS; round++) {       \
            uint64_t start = clp_clock_monotonic();          \
            for (int turn = 0; turn < TURNS; turn++) {       \
                work;                                        \
            }                                                \
            uint64_t taken = clp_clock_monotonic() - start;  \
            best = taken < best ? taken : best;              \
        }                                                    \
        (double)best / TURNS;                                \
    })

static __attribute__((always_inline)) inline void read_clock(void)
{
    *(volatile uint64_t *)&readings = clp_clock_read(&clock_);
}

/* Walks from place to place and writes to each, like an interpreter that follows pointers and counts references. */
static __attribute__((always_inline)) inline void walk(void)
{
    static uint64_t at;

    for (int step = 0; step < STEPS; step++) {
        uint64_t next = *(volatile uint64_t *)&places[at];
        *(volatile uint64_t *)&places[at] = next;
        at = next;
    }
}

int main(void)
{
    clock_ = clp_clock_start();
    for (uint64_t i = 0; i < PLACES; i++)
        places[i] = (i + 7) % PLACES;
    double alone = NANOS_OF(read_clock());
    double work = NANOS_OF(walk());
    double both = NANOS_OF(read_clock(); walk());
    printf("%.1f %.1f\n", alone, both - work);
    return 0;
}
