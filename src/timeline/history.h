/* SPDX-License-Identifier: MIT */
/* What a sampler and the looks at the stacks saw over time, where it lies while a run records, and how
 * it becomes part of a profile. It may lie in the live file: then it outlives the process.
 *
 * Of a copy taken at any moment what is sound is found again: a look counts where its time is above that
 * of all before it, a sample that begins no look where its time is the look's. So what halving
 * (samples.h) leaves behind falls out, and no count is needed. */
#ifndef CLP_HISTORY_H
#define CLP_HISTORY_H

#include "os/clock.h"
#include "function_spans.h"
#include "profile/profile.h"
#include "sampler.h"

struct clp_history {
    double start;         /* seconds since 1970 of time 0 of the samples */
    uint64_t start_nanos; /* CLOCK_MONOTONIC then */
    struct clp_function_spans marks;
    struct clp_sample samples[CLP_SAMPLER_ROOM];
};

/* The samples of each process as a series of the profile, those of process 0 under the number `pid`.
 * `start` as in struct clp_history. CLP_NO_MEMORY leaves the profile with a part of them. */
clp_status clp_history_add_samples(const struct clp_samples *samples, double start, uint64_t pid,
                                   struct clp_profile *profile);

/* The process that recorded a history. */
struct clp_history_origin {
    uint64_t pid;
    const struct clp_functions *functions; /* by the numbers that marks have */
    const struct clp_clock *clock;         /* start_ticks and start_nanos are one moment */
    double nanos_per_tick;
};

/* Adds the samples as clp_history_add_samples, and to the first series the marks, which are ended by this.
 * CLP_NO_MEMORY leaves the profile with a part of them. */
clp_status clp_history_add(struct clp_history *history, const struct clp_samples *samples,
                           const struct clp_history_origin *origin, struct clp_profile *profile);

/* Leaves of foreign bytes only what is sound; *samples is what there is then. */
void clp_history_tidy(struct clp_history *history, struct clp_samples *samples);

#endif
