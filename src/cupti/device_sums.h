/* SPDX-License-Identifier: MIT */
/* What devices did for lines, until the counters of the lines get it. CUPTI's thread adds, without the interpreter's
 * lock, which the counters need. One for the process. */
#ifndef CLP_DEVICE_SUMS_H
#define CLP_DEVICE_SUMS_H

#include "engine/devices.h"

struct clp_device_sum {
    uint64_t time, wait; /* nanoseconds */
    uint64_t launches;
};

/* What is no line's. */
struct clp_device_outside {
    uint64_t time;     /* nanoseconds of kernels and copies that were launched outside of the lines */
    uint64_t launches; /* number of these */
    uint64_t lost; /* number of kernels and copies whose time or line is not known */
};

/* Adds to the sum of a line. Where there is no memory, it counts as outside. */
void clp_device_sums_add(const struct clp_device_place *place, const struct clp_device_sum *sum);

void clp_device_sums_add_outside(const struct clp_device_outside *outside);

/* Calls take() for each line with what was added since the last call, and then keeps none of it. */
void clp_device_sums_take(void (*take)(void *data, const struct clp_device_place *place,
                                       const struct clp_device_sum *sum),
                          void *data);

/* The sum so far. */
struct clp_device_outside clp_device_sums_outside(void);

#endif
