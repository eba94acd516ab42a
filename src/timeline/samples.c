/* SPDX-License-Identifier: MIT */
#include "samples.h"
#include <string.h>

void clp_samples_init(struct clp_samples *samples, struct clp_sample *room, size_t count)
{
    *samples = (struct clp_samples){.items = room, .room = count, .every = 1};
}

void clp_samples_empty(struct clp_samples *samples)
{
    samples->count = samples->last = 0;
    samples->whole = 0;
}

static size_t end_of_look(const struct clp_samples *samples, size_t start)
{
    size_t end = start + 1;

    while (end < samples->count && !samples->items[end].first)
        end++;
    return end < samples->count ? end : samples->count;
}

static uint64_t total(const struct clp_sample *look, size_t count)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += look[i].bytes;
    return sum;
}

/* Returns where the larger of two looks begins; the earlier one if they are equal. */
static size_t larger(const struct clp_samples *samples, size_t one, size_t two, size_t end)
{
    return total(samples->items + two, end - two) > total(samples->items + one, two - one) ? two
                                                                                           : one;
}

static void halve(struct clp_samples *samples)
{
    size_t used = 0, at = 0, end = 0;
    bool odd = false;

    for (; at < samples->count; at = end) {
        size_t middle = end_of_look(samples, at);
        odd = middle == samples->count;
        end = odd ? middle : end_of_look(samples, middle);
        size_t kept = odd ? at : larger(samples, at, middle, end);
        size_t bytes = (kept == at ? middle : end) - kept;
        memmove(samples->items + used, samples->items + kept, bytes * sizeof *samples->items);
        samples->last = used;
        used += bytes;
    }
    samples->whole += odd ? 0 : samples->every;
    samples->every *= 2;
    samples->count = used;
}

/* Behind what is there already. */
static void append(struct clp_samples *samples, const struct clp_sample *look, size_t count)
{
    samples->last = samples->count;
    memcpy(samples->items + samples->count, look, count * sizeof *look);
    samples->count += count;
}

void clp_samples_add(struct clp_samples *samples, uint64_t time, struct clp_sample *look,
                     size_t count)
{
    if (count > samples->room / 2)
        count = samples->room / 2;
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        look[i].time = time;
        look[i].first = i == 0;
    }
    while (samples->count + count > samples->room)
        halve(samples);
    if (samples->count == 0 || samples->whole >= samples->every) {
        append(samples, look, count);
        samples->whole = 1;
        return;
    }
    samples->whole++;
    if (total(look, count) <= total(samples->items + samples->last, samples->count - samples->last))
        return;
    samples->count = samples->last;
    append(samples, look, count);
}
