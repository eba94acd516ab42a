/* SPDX-License-Identifier: MIT */
/* Memory over time in a run of ckernprof: a sampler, and the stays in selected functions that it sees. */
#ifndef CLP_TIMELINE_H
#define CLP_TIMELINE_H

#include "timeline/history.h"
#include "cpython/recorder/watch.h"
#include "cpython/compat/compat.h"

struct clp_timeline {
    struct clp_sampler sampler;
    struct clp_history *history; /* in the live file or the sampler's memory; NULL: no timeline */
    struct clp_watch *watch; /* borrowed */
};

struct clp_timeline_wish {
    const char *program; /* for messages */
    double interval;     /* seconds */
    bool children;
};

/* Starts it. What cannot be had is complained about in one line, and the run goes on without. */
void clp_timeline_begin(struct clp_timeline *timeline, PyObject *profiler,
                        struct clp_watch *watch, const struct clp_timeline_wish *wish);

/* Ends it; before the profile is taken, with the profiler stopped. Nothing happens where none began. */
void clp_timeline_stop(struct clp_timeline *timeline);

/* Adds what it saw to the profile, whose functions are the engine's. */
clp_status clp_timeline_fill(struct clp_timeline *timeline, PyObject *profiler,
                             struct clp_profile *profile);

#endif
