/* SPDX-License-Identifier: MIT */
/* For the bench: a build in which a reading of the clock is an addition. It shows what events cost without their
 * readings; its times mean nothing. The compiler includes this before each file. */
#ifndef BENCH_NO_CLOCK_H
#define BENCH_NO_CLOCK_H

#include "os/clock.h"

/* Weak, so that all files have one. */
__attribute__((weak)) uint64_t bench_ticks;

#define clp_clock_counter() (bench_ticks += 16)
#define clp_clock_read(clock) ((void)(clock), clp_clock_counter())

/* Ticks are no time here: what is done after some microseconds or a millisecond is never done. */
#define clp_clock_ticks(clock, nanos) ((void)(clock), (void)(nanos), UINT64_MAX / 4)

#endif
