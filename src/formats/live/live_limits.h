/* SPDX-License-Identifier: MIT */
/* Brings what a damaged file holds into ranges that can be counted with. */
#ifndef CLP_LIVE_LIMITS_H
#define CLP_LIVE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Limits for the counters of a damaged file. They lie so far below the ends of the types that no sum reaches
 * these: neither of two blocks, nor of a block and what a stack adds to it, which may be millions of events. */
#define CLP_LIVE_MOST_COUNT ((int64_t)1 << 56)
#define CLP_LIVE_MOST_CORRECTION ((int64_t)1 << 60)
#define CLP_LIVE_MOST_COST ((int64_t)1 << 32) /* of one event: milliseconds */

static inline void clp_live_limit_to(int64_t *value, int64_t largest)
{
    if (*value > largest)
        *value = largest;
    if (*value < -largest)
        *value = -largest;
}

static inline void clp_live_limit(int64_t *value)
{
    clp_live_limit_to(value, CLP_LIVE_MOST_COUNT);
}

static inline void clp_live_limit_count(uint64_t *value)
{
    if (*value > (uint64_t)CLP_LIVE_MOST_COUNT)
        *value = (uint64_t)CLP_LIVE_MOST_COUNT;
}

/* Is the flag set? The byte comes from a foreign file, and need not be 0 or 1. */
static inline bool clp_live_is_set(const bool *flag)
{
    unsigned char byte;

    memcpy(&byte, flag, 1);
    return byte != 0;
}

#endif
