/* SPDX-License-Identifier: MIT */
/* Prints how long one reading of clineprof's clock takes on this machine, in nanoseconds. */
#include "os/clock.h"
#include <stdio.h>

#define READINGS 1000000
#define ROUNDS 9

int main(void)
{
    struct clp_clock clock = clp_clock_start();
    uint64_t best = UINT64_MAX;

    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = clp_clock_monotonic();
        for (int i = 0; i < READINGS; i++)
            (void)*(volatile uint64_t *)&(uint64_t){clp_clock_read(&clock)};
        uint64_t taken = clp_clock_monotonic() - start;
        best = taken < best ? taken : best;
    }
    printf("%.1f\n", (double)best / READINGS);
    return 0;
}
