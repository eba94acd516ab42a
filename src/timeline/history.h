/* SPDX-License-Identifier: MIT */
/* What a run records over time (samples of sizes, and spans of functions), and how it becomes part of a profile.
 * A history may lie in the live file: then it outlives the process.
 *
 * A copy that was taken at any moment needs no count of samples, because clp_history_tidy can tell which are
 * sound. The first sample of a look is sound if its time is above that of all looks before it. Any other sample is
 * sound if it has the time of its look. What halving (samples.h) has left behind the last sample is not sound. */
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

/* Adds the samples of each process to the profile as a series. Process 0 gets the number `pid`. `start` as in
 * struct clp_history. CLP_NO_MEMORY leaves the profile with a part of them. */
clp_status clp_history_add_samples(const struct clp_samples *samples, double start, uint64_t pid,
                                   struct clp_profile *profile);

/* The process that recorded a history. */
struct clp_history_origin {
    uint64_t pid;
    const struct clp_functions *functions; /* indexed by the number in a span */
    const struct clp_clock *clock;         /* start_ticks and start_nanos are one moment */
    double nanos_per_tick;
};

/* Adds the samples as clp_history_add_samples does. Ends the spans and adds them to the first of these
 * series, as marks. CLP_NO_MEMORY leaves the profile with a part of them. */
clp_status clp_history_add(struct clp_history *history, const struct clp_samples *samples,
                           const struct clp_history_origin *origin, struct clp_profile *profile);

/* For a history from a file, which may hold any bytes: keeps what is sound and sets *samples to the samples
 * that are left. */
void clp_history_tidy(struct clp_history *history, struct clp_samples *samples);

#endif
