/* SPDX-License-Identifier: MIT */
#include "cupti/device_sums.h"
#include <criterion/criterion.h>
#include <pthread.h>

struct taken {
    uint64_t lines, time, wait, launches, weighed;
};

static void take(void *data, const struct clp_device_place *place, const struct clp_device_sum *sum)
{
    struct taken *taken = data;

    taken->lines++;
    taken->time += sum->time;
    taken->wait += sum->wait;
    taken->launches += sum->launches;
    taken->weighed += sum->launches * (place->function * 1000 + place->line * 10 + place->group);
}

static void *add_many(void *nothing)
{
    (void)nothing;
    for (uint32_t i = 0; i < 30000; i++) {
        clp_device_sums_add(&(struct clp_device_place){i % 100, i % 7, i % 2}, &(struct clp_device_sum){3, 2, 1});
        clp_device_sums_add_outside(&(struct clp_device_outside){5, 1, 2});
    }
    return NULL;
}

/* Threads add while another one takes: nothing is lost, and nothing is taken twice. */
Test(device_sums, threads)
{
    struct taken taken = {0};
    uint64_t weighed = 0;
    pthread_t threads[3];

    for (int i = 0; i < 3; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, add_many, NULL), 0);
    for (int i = 0; i < 100; i++)
        clp_device_sums_take(take, &taken);
    for (int i = 0; i < 3; i++)
        (void)pthread_join(threads[i], NULL);
    clp_device_sums_take(take, &taken);
    for (uint32_t i = 0; i < 30000; i++)
        weighed += 3 * (i % 100 * 1000 + i % 7 * 10 + i % 2);
    cr_expect_eq(taken.time, 270000);
    cr_expect_eq(taken.wait, 180000);
    cr_expect_eq(taken.launches, 90000);
    cr_expect_eq(taken.weighed, weighed);
    const struct clp_device_outside outside = clp_device_sums_outside();
    cr_expect(outside.time == 450000 && outside.launches == 90000 && outside.lost == 180000);
    taken = (struct taken){0};
    clp_device_sums_take(take, &taken);
    cr_expect_eq(taken.lines, 0, "all was taken");
    clp_device_sums_add(&(struct clp_device_place){99, 1, 1}, &(struct clp_device_sum){.wait = 4});
    clp_device_sums_take(take, &taken);
    cr_expect(taken.lines == 1 && taken.wait == 4 && taken.launches == 0);
}
