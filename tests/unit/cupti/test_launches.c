/* SPDX-License-Identifier: MIT */
#include "cupti/launches.h"
#include <criterion/criterion.h>
#include <pthread.h>

Test(launches, each_is_found_until_its_place_is_needed)
{
    const struct clp_device_place most = {UINT32_MAX, CLP_FUNCTION_MOST_LINES - 1, CLP_GROUPS_MOST};
    const struct clp_device_place least = {0, 0, 0};
    struct clp_device_place place;

    clp_launches_prepare();
    cr_expect_eq(clp_launches_find(0, &place), CLP_LAUNCH_UNKNOWN);
    clp_launches_note(0, CLP_LAUNCH_ON_LINE, &least);
    clp_launches_note(UINT32_MAX, CLP_LAUNCH_ON_LINE, &most);
    clp_launches_note(1, CLP_LAUNCH_OUTSIDE, NULL);
    clp_launches_note(2, CLP_LAUNCH_LEFT_OUT, NULL);
    for (int i = 0; i < 2; i++) { /* a graph has many records */
        cr_expect_eq(clp_launches_find(0, &place), CLP_LAUNCH_ON_LINE);
        cr_expect(place.function == 0 && place.line == 0 && place.group == 0);
        cr_expect_eq(clp_launches_find(UINT32_MAX, &place), CLP_LAUNCH_ON_LINE);
        cr_expect(place.function == most.function && place.line == most.line && place.group == most.group);
    }
    cr_expect_eq(clp_launches_find(1, &place), CLP_LAUNCH_OUTSIDE);
    cr_expect_eq(clp_launches_find(2, &place), CLP_LAUNCH_LEFT_OUT);
    clp_launches_note(CLP_LAUNCHES, CLP_LAUNCH_ON_LINE, &most);
    cr_expect_eq(clp_launches_find(0, &place), CLP_LAUNCH_UNKNOWN, "forgotten");
    cr_expect_eq(clp_launches_find(CLP_LAUNCHES, &place), CLP_LAUNCH_ON_LINE);
    clp_launches_prepare();
    cr_expect_eq(clp_launches_find(CLP_LAUNCHES, &place), CLP_LAUNCH_UNKNOWN);
}

/* The time that a call waited is told once, to whoever comes second: the end of the call or the record. */
Test(launches, waiting)
{
    clp_launches_prepare();
    clp_launches_note(1, CLP_LAUNCH_OUTSIDE, NULL);
    cr_expect_not(clp_launches_end(1, 500), "no record has come");
    cr_expect_eq(clp_launches_take_wait(1), 500);
    cr_expect_eq(clp_launches_take_wait(1), 0, "a second record");

    clp_launches_note(2, CLP_LAUNCH_OUTSIDE, NULL);
    cr_expect_eq(clp_launches_take_wait(2), 0, "the call goes on");
    cr_expect(clp_launches_end(2, 700));

    clp_launches_note(1 + CLP_LAUNCHES, CLP_LAUNCH_OUTSIDE, NULL);
    cr_expect_not(clp_launches_end(1, 900), "it was forgotten");
    cr_expect_eq(clp_launches_take_wait(1 + CLP_LAUNCHES), 0, "which took nothing of the later one");
}

#define ROUNDS 300000u

static void *note_many(void *first)
{
    for (uint32_t i = *(uint32_t *)first; i < ROUNDS; i += 2) {
        const struct clp_device_place place = {i * 7, i % 1000, i % 900};
        clp_launches_note(i, CLP_LAUNCH_ON_LINE, &place);
    }
    return NULL;
}

/* Who reads while others write finds a launch as it was noted, or none. */
Test(launches, threads)
{
    uint32_t firsts[] = {0, 1}, found = 0;
    struct clp_device_place place;
    pthread_t threads[2];

    clp_launches_prepare();
    for (int i = 0; i < 2; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, note_many, &firsts[i]), 0);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        if (clp_launches_find(i, &place) == CLP_LAUNCH_UNKNOWN)
            continue;
        cr_assert(place.function == i * 7 && place.line == i % 1000 && place.group == i % 900, "%u", i);
    }
    for (int i = 0; i < 2; i++)
        (void)pthread_join(threads[i], NULL);
    for (uint32_t i = ROUNDS - CLP_LAUNCHES; i < ROUNDS; i++)
        found += clp_launches_find(i, &place) == CLP_LAUNCH_ON_LINE && place.function == i * 7;
    cr_expect_eq(found, CLP_LAUNCHES);
}
