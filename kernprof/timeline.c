/* SPDX-License-Identifier: MIT */
#include "timeline.h"
#include "../src/python/profiler.h"
#include "helpers.h"
#include "words.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

static void look(void *data, const struct clp_engine *engine, uint64_t now)
{
    clp_marks_look(data, engine, now);
}

/* In the sampler's thread, which must not touch the stacks itself. */
static void after_sample(void *data)
{
    clp_watch_ask(data);
}

static bool take_marks(struct clp_timeline *timeline)
{
    size_t mapped;

    timeline->marks = clp_pages_map(&timeline->sampler.pages, sizeof *timeline->marks, &mapped);
    return timeline->marks != NULL;
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
    int error = take_marks(timeline) ? clp_sampler_open(&timeline->sampler) : ENOMEM;
    if (error == 0) {
        watch->look = look;
        watch->look_data = timeline->marks;
        clp_profiler_set_helper(profiler, &timeline->sampler.pages);
        error = clp_sampler_start(&timeline->sampler);
    }
    if (error == 0)
        clp_helpers_add(&timeline->sampler.helper);
    else
        clp_words_complain_format(wish->program, "no timeline: memory cannot be sampled: %s",
                                  strerror(error));
}

void clp_timeline_stop(struct clp_timeline *timeline)
{
    if (timeline->marks == NULL)
        return;
    clp_helpers_remove(&timeline->sampler.helper);
    if (timeline->sampler.block != NULL)
        clp_sampler_look(&timeline->sampler);
    clp_marks_end(timeline->marks);
}

/* ---- into the profile ---- */

/* Its number, when a process appears for the first time. */
static clp_status find_series(const struct clp_sampler *sampler, struct clp_profile *profile,
                              size_t before, uint64_t pid, struct clp_profile_series **series)
{
    for (size_t i = before; i < profile->series_count; i++) {
        *series = &profile->series[i];
        if ((*series)->pid == pid)
            return CLP_OK;
    }
    return clp_profile_add_series(profile, pid, sampler->start, series);
}

clp_status clp_timeline_add_samples(const struct clp_sampler *sampler, struct clp_profile *profile)
{
    const struct clp_samples *samples = &sampler->samples;
    size_t before = profile->series_count;
    struct clp_profile_series *series;

    for (size_t i = 0; i < samples->count; i++) {
        const struct clp_sample *sample = &samples->items[i];
        uint64_t pid = sample->pid != 0 ? sample->pid : (uint64_t)getpid();
        if (find_series(sampler, profile, before, pid, &series) != CLP_OK ||
            clp_profile_add_sample(profile, series, sample->time, sample->bytes) != CLP_OK)
            return CLP_NO_MEMORY;
    }
    return CLP_OK;
}

/* The clock's ticks as nanoseconds of the series. */
static uint64_t time_of(uint64_t ticks, const struct clp_sampler *sampler,
                        const struct clp_clock *clock, double nanos_per_tick)
{
    double nanos = (double)clock->start_nanos - (double)sampler->start_nanos +
                   (double)(ticks - clock->start_ticks) * nanos_per_tick;

    return nanos > 0 ? (uint64_t)nanos : 0;
}

clp_status clp_timeline_fill(struct clp_timeline *timeline, PyObject *profiler,
                             struct clp_profile *profile)
{
    const struct clp_sampler *sampler = &timeline->sampler;
    const struct clp_clock *clock = clp_profiler_clock(profiler);
    double rate = clp_clock_nanos_per_tick(clock);
    size_t first = profile->series_count;

    if (timeline->marks == NULL || sampler->samples.count == 0)
        return CLP_OK;
    clp_status status = clp_timeline_add_samples(sampler, profile);
    for (size_t i = 0; status == CLP_OK && i < timeline->marks->closed_count; i++) {
        const struct clp_mark *mark = &timeline->marks->closed[i];
        if (mark->function >= profile->function_count)
            continue;
        const struct clp_profile_function *function = &profile->functions[mark->function];
        status = clp_profile_add_mark(profile, &profile->series[first],
                                      &(struct clp_profile_mark){
                                          .file = function->file,
                                          .name = function->name,
                                          .first_line = function->first_line,
                                          .level = mark->level,
                                          .enter = time_of(mark->enter, sampler, clock, rate),
                                          .leave = time_of(mark->leave, sampler, clock, rate),
                                      });
    }
    return status;
}
