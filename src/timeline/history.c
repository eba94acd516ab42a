/* SPDX-License-Identifier: MIT */
#include "history.h"
#include <string.h>

/* ---- into a profile ---- */

/* Finds the series of the process, or adds it when the process appears for the first time. */
static clp_status find_series(struct clp_profile *profile, size_t before, uint64_t pid,
                              double start, struct clp_profile_series **series)
{
    for (size_t i = before; i < profile->series_count; i++) {
        *series = &profile->series[i];
        if ((*series)->pid == pid)
            return CLP_OK;
    }
    return clp_profile_add_series(profile, pid, start, series);
}

clp_status clp_history_add_samples(const struct clp_samples *samples, double start, uint64_t pid,
                                   struct clp_profile *profile)
{
    size_t before = profile->series_count;
    struct clp_profile_series *series;

    for (size_t i = 0; i < samples->count; i++) {
        const struct clp_sample *sample = &samples->items[i];
        uint64_t number = sample->pid != 0 ? sample->pid : pid;
        if (find_series(profile, before, number, start, &series) != CLP_OK ||
            clp_profile_add_sample(profile, series, sample->time, sample->bytes) != CLP_OK)
            return CLP_NO_MEMORY;
    }
    return CLP_OK;
}

/* The clock's ticks as nanoseconds of the series. */
static uint64_t time_of(uint64_t ticks, const struct clp_history *history,
                        const struct clp_history_origin *origin)
{
    double nanos = (double)origin->clock->start_nanos - (double)history->start_nanos +
                   (double)(ticks - origin->clock->start_ticks) * origin->nanos_per_tick;

    return nanos > 0 && nanos < 1e18 ? (uint64_t)nanos : 0;
}

clp_status clp_history_add(struct clp_history *history, const struct clp_samples *samples,
                           const struct clp_history_origin *origin, struct clp_profile *profile)
{
    size_t first = profile->series_count;
    clp_status status = clp_history_add_samples(samples, history->start, origin->pid, profile);

    clp_function_spans_end(&history->marks);
    if (first == profile->series_count)
        return status; /* no series that the spans could belong to */
    for (size_t i = 0; status == CLP_OK && i < history->marks.closed_count; i++) {
        const struct clp_function_span *mark = &history->marks.closed[i];
        if (mark->function >= origin->functions->count)
            continue;
        const struct clp_function *function = &origin->functions->items[mark->function];
        status = clp_profile_add_mark(
            profile, &profile->series[first],
            &(struct clp_profile_mark){
                .file = function->file,
                .name = function->name,
                .first_line = function->first_line,
                .level = mark->level,
                .enter = time_of(mark->enter, history, origin),
                .leave = time_of(mark->leave, history, origin),
            });
    }
    return status;
}

/* ---- from a file ---- */

#define LATEST ((uint64_t)1 << 60) /* nanoseconds: 36 years */

/* Read as a byte: in a foreign file a bool may be other than 0 and 1. */
static bool begins_look(const struct clp_sample *sample)
{
    unsigned char byte;

    memcpy(&byte, &sample->first, 1);
    return byte != 0;
}

static void tidy_samples(struct clp_history *history, struct clp_samples *samples)
{
    uint64_t time = 0;
    size_t count = 0;

    for (size_t i = 0; i < CLP_SAMPLER_ROOM; i++) {
        const struct clp_sample *from = &history->samples[i];
        bool first = begins_look(from);
        if (from->time == 0 || from->time > LATEST ||
            (first ? from->time <= time : from->time != time))
            continue;
        time = from->time;
        history->samples[count++] = (struct clp_sample){from->time, from->bytes, from->pid, first};
    }
    clp_samples_init(samples, history->samples, CLP_SAMPLER_ROOM);
    samples->count = count;
}

static bool is_sound(const struct clp_function_span *mark)
{
    return mark->enter <= mark->leave && mark->level < CLP_FUNCTION_SPANS_DEPTH;
}

static size_t tidy_marks(struct clp_function_span *marks, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count && i < CLP_FUNCTION_SPANS; i++) {
        if (is_sound(&marks[i]))
            marks[kept++] = marks[i];
    }
    return kept;
}

void clp_history_tidy(struct clp_history *history, struct clp_samples *samples)
{
    struct clp_function_spans *marks = &history->marks;

    if (!(history->start >= 0 && history->start < 1e12))
        history->start = 0;
    tidy_samples(history, samples);
    marks->closed_count = tidy_marks(marks->closed, marks->closed_count);
    marks->open_count = tidy_marks(marks->open, marks->open_count);
}
