/* SPDX-License-Identifier: MIT */
/* Random numbers to choose samples by. */
#ifndef CLP_RANDOM_H
#define CLP_RANDOM_H

#include <stdint.h>

/* A number between 0 and 1, without both. *state is atomic, and must not be 0. xorshift64*: Vigna, "An experimental
 * exploration of Marsaglia's xorshift generators, scrambled", 2016. */
static inline double clp_random_uniform(uint64_t *state)
{
    uint64_t x = __atomic_load_n(state, __ATOMIC_RELAXED);

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    __atomic_store_n(state, x, __ATOMIC_RELAXED);
    return ((double)((x * UINT64_C(0x2545F4914F6CDD1D)) >> 11) + 0.5) / 9007199254740992.0;
}

#endif
