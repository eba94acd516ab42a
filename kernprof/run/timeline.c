/* SPDX-License-Identifier: MIT */
#include "timeline.h"
#include "cpython/object/profiler_run.h"
#include "run/processes/fork_helpers.h"
#include "bridge/console.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

static void look(void *data, const struct clp_engine *engine, uint64_t now)
{
    clp_function_spans_look(data, engine, now);
}

/* Called in the sampler's thread after each sample. That thread must not read the stacks, so it asks the next event
 * to. */
static void after_sample(void *data)
{
    clp_watch_ask(data);
}

/* Makes the history in the live file, or in the sampler's pages when there is none. False without memory. */
static bool take_history(struct clp_timeline *timeline, PyObject *profiler)
{
    size_t mapped;

    timeline->history = clp_live_new_history(clp_profiler_live(profiler));
    if (timeline->history == NULL)
        timeline->history =
            clp_pages_map(&timeline->sampler.pages, sizeof *timeline->history, &mapped);
    return timeline->history != NULL;
}

/* Opens the sampler, which takes the first sample. Returns 0 or errno. */
static int open_sampler(struct clp_timeline *timeline)
{
    timeline->sampler.room = timeline->history->samples;
    int error = clp_sampler_open(&timeline->sampler);

    timeline->history->start = timeline->sampler.start;
    timeline->history->start_nanos = timeline->sampler.start_nanos;
    return error;
}

void clp_timeline_begin(struct clp_timeline *timeline, PyObject *profiler,
                        struct clp_watch *watch, const struct clp_timeline_wish *wish)
{
    timeline->watch = watch;
    timeline->sampler = (struct clp_sampler){
        .interval = wish->interval,
        .children = wish->children,
        .left_out = {clp_profiler_pages(profiler)},
        .after = after_sample,
        .data = watch,
    };
    int error = take_history(timeline, profiler) ? open_sampler(timeline) : ENOMEM;
    if (error == 0) {
        watch->look = look;
        watch->look_data = &timeline->history->marks;
        clp_profiler_set_helper(profiler, &timeline->sampler.pages);
        error = clp_sampler_start(&timeline->sampler);
    }
    if (error == 0)
        clp_fork_helpers_add(&timeline->sampler.helper);
    else
        clp_console_complain_format(wish->program, "no timeline: memory cannot be sampled: %s",
                                    error == ESRCH ? "/proc cannot be read" : strerror(error));
}

void clp_timeline_stop(struct clp_timeline *timeline)
{
    if (timeline->history == NULL)
        return;
    clp_fork_helpers_remove(&timeline->sampler.helper);
    if (timeline->sampler.block != NULL)
        clp_sampler_look(&timeline->sampler);
}

clp_status clp_timeline_fill(struct clp_timeline *timeline, PyObject *profiler,
                             struct clp_profile *profile)
{
    const struct clp_clock *clock = clp_profiler_clock(profiler);

    if (timeline->history == NULL || timeline->sampler.samples.count == 0)
        return CLP_OK;
    return clp_history_add(
        timeline->history, &timeline->sampler.samples,
        &(struct clp_history_origin){.pid = (uint64_t)getpid(),
                                     .functions = clp_profiler_functions(profiler),
                                     .clock = clock,
                                     .nanos_per_tick = clp_clock_nanos_per_tick(clock)},
        profile);
}
