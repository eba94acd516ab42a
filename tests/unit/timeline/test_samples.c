/* SPDX-License-Identifier: MIT */
#include "timeline/samples.h"
#include <criterion/criterion.h>

#define ROOM 16

static struct clp_sample room[ROOM];

static struct clp_samples fresh(void)
{
    struct clp_samples samples;

    clp_samples_init(&samples, room, ROOM);
    return samples;
}

/* A look at one process of this size. */
static void add(struct clp_samples *samples, uint64_t time, uint64_t bytes)
{
    struct clp_sample look = {.pid = 1, .bytes = bytes};

    clp_samples_add(samples, time, &look, 1);
}

static void add_two(struct clp_samples *samples, uint64_t time, uint64_t one, uint64_t two)
{
    struct clp_sample look[] = {{.pid = 1, .bytes = one}, {.pid = 2, .bytes = two}};

    clp_samples_add(samples, time, look, 2);
}

static void check(const struct clp_samples *samples)
{
    cr_assert_leq(samples->count, samples->room);
    cr_assert(samples->count == 0 || samples->items[0].first);
    for (size_t i = 1; i < samples->count; i++) {
        const struct clp_sample *sample = &samples->items[i];
        if (sample->first)
            cr_assert_gt(sample->time, sample[-1].time);
        else
            cr_assert_eq(sample->time, sample[-1].time);
    }
}

Test(samples, everything_is_kept_while_there_is_room)
{
    struct clp_samples samples = fresh();

    for (uint64_t i = 0; i < ROOM; i++)
        add(&samples, i, 100 + i);
    cr_assert_eq(samples.count, ROOM);
    cr_assert_eq(samples.every, 1);
    for (uint64_t i = 0; i < ROOM; i++)
        cr_assert(samples.items[i].time == i && samples.items[i].bytes == 100 + i);
}

Test(samples, of_two_looks_the_larger_stays_with_its_own_time)
{
    struct clp_samples samples = fresh();

    for (uint64_t i = 0; i <= ROOM; i++)
        add(&samples, i, i % 4 == 1 ? 500 : 100 + i);
    cr_assert_eq(samples.every, 2);
    cr_assert_eq(samples.count, ROOM / 2 + 1);
    cr_assert(samples.items[0].time == 1 && samples.items[0].bytes == 500);
    cr_assert(samples.items[1].time == 3 && samples.items[1].bytes == 103);
    cr_assert_eq(samples.items[ROOM / 2].time, ROOM);
}

Test(samples, a_long_run_keeps_its_peak_its_order_and_enough_looks)
{
    for (uint64_t peak_at = 0; peak_at < 5000; peak_at += 7) {
        struct clp_samples samples = fresh();
        uint64_t peak = 0;
        for (uint64_t i = 0; i < 5000; i++)
            add(&samples, i, i == peak_at ? 1000000 : i);
        check(&samples);
        cr_assert_geq(samples.count, ROOM / 2);
        for (size_t i = 0; i < samples.count; i++)
            if (samples.items[i].bytes == 1000000)
                peak = samples.items[i].time + 1;
        cr_assert_eq(peak, peak_at + 1, "the peak at %d was lost", (int)peak_at);
    }
}

Test(samples, looks_stay_whole)
{
    struct clp_samples samples = fresh();

    for (uint64_t i = 0; i < 1000; i++) {
        if (i % 3 == 0)
            add(&samples, i, 50);
        else
            add_two(&samples, i, 10, 20 + i % 5);
        check(&samples);
    }
    for (size_t i = 0; i < samples.count; i++)
        if (!samples.items[i].first)
            cr_assert(samples.items[i].pid == 2 && samples.items[i - 1].bytes == 10);
}

Test(samples, the_sum_of_a_look_counts)
{
    struct clp_samples samples = fresh();

    for (uint64_t i = 0; i < ROOM / 2; i++) {
        add(&samples, 2 * i, 50);
        add_two(&samples, 2 * i + 1, 30, 30);
    }
    check(&samples);
    for (size_t i = 0; i < samples.count; i++)
        cr_assert_eq(samples.items[i].bytes, 30);
}

Test(samples, a_look_of_more_than_half_the_room_is_cut_off)
{
    struct clp_samples samples = fresh();
    struct clp_sample look[ROOM + 4] = {{0}};

    for (uint64_t i = 0; i < 10; i++)
        clp_samples_add(&samples, i, look, ROOM + 4);
    check(&samples);
    clp_samples_add(&samples, 10, look, 0);
    check(&samples);
}

Test(samples, emptied_it_goes_on_as_often_as_before)
{
    struct clp_samples samples = fresh();

    for (uint64_t i = 0; i < 3 * ROOM; i++)
        add(&samples, i, 1);
    uint64_t every = samples.every;
    cr_assert_gt(every, 1);
    clp_samples_empty(&samples);
    for (uint64_t i = 0; i < every * 4; i++)
        add(&samples, 1000 + i, 1 + i);
    cr_assert_eq(samples.count, 4);
    cr_assert_eq(samples.items[0].time, 1000 + every - 1);
}
