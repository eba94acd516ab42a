/* SPDX-License-Identifier: MIT */
/* The option --timeline: samples memory over time, and notes in which selected functions the program was. */
#ifndef CLP_TIMELINE_H
#define CLP_TIMELINE_H

#include "timeline/history.h"
#include "cpython/recorder/watch.h"
#include "cpython/compat/compat.h"

struct clp_timeline {
    struct clp_sampler sampler;
    struct clp_history *history; /* borrowed: lies in the live file, or in the sampler's pages; NULL: no timeline */
    struct clp_watch *watch; /* borrowed */
};

struct clp_timeline_wish {
    const char *program; /* its name begins every message */
    double interval;     /* seconds */
    bool children;       /* sample child processes, too */
};

/* Starts the timeline. If memory cannot be sampled, one line says why, and the run goes on without a timeline. */
void clp_timeline_begin(struct clp_timeline *timeline, PyObject *profiler,
                        struct clp_watch *watch, const struct clp_timeline_wish *wish);

/* Ends the timeline. To be called when the profiler has stopped, and before clp_timeline_fill. Does nothing when no
 * timeline has begun. */
void clp_timeline_stop(struct clp_timeline *timeline);

/* Adds the timeline to a profile whose functions have the numbers that they have in the engine. */
clp_status clp_timeline_fill(struct clp_timeline *timeline, PyObject *profiler,
                             struct clp_profile *profile);

#endif
