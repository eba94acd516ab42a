/* SPDX-License-Identifier: MIT */
/* Memory over time, found again in a copy that was taken at a bad moment. */
#include "helpers.h"
#include "timeline/history.h"
#include <stdlib.h>
#include <string.h>

static struct clp_history *history;
static struct clp_samples samples;

static void make(void)
{
    history = calloc(1, sizeof *history);
    cr_assert_not_null(history);
    clp_samples_init(&samples, history->samples, CLP_SAMPLER_ROOM);
}

static void drop(void)
{
    free(history);
}

TestSuite(history, .init = make, .fini = drop);

static void look(uint64_t time, uint64_t bytes, size_t processes)
{
    struct clp_sample seen[3] = {{.bytes = bytes}, {.pid = 7, .bytes = 1}, {.pid = 8, .bytes = 2}};

    clp_samples_add(&samples, time, seen, processes);
}

static bool equal_to_samples(const struct clp_samples *found)
{
    if (found->count != samples.count)
        return false;
    for (size_t i = 0; i < found->count; i++) {
        const struct clp_sample *a = &found->items[i], *b = &samples.items[i];
        if (a->time != b->time || a->bytes != b->bytes || a->pid != b->pid || a->first != b->first)
            return false;
    }
    return true;
}

Test(history, all_samples_are_found_without_their_number)
{
    struct clp_samples found;

    for (uint64_t i = 1; i <= 100; i++)
        look(i * 10, i, i % 3 + 1);
    struct clp_samples there = samples;
    clp_history_tidy(history, &found);
    samples = there;
    cr_assert(equal_to_samples(&found));
}

Test(history, what_halving_left_behind_is_no_sample)
{
    struct clp_samples found;

    for (uint64_t i = 1; i <= CLP_SAMPLER_ROOM / 2 + 40000; i++)
        look(i * 10, i % 1000, i % 3 + 1);
    cr_assert_gt(samples.every, 1);
    struct clp_samples there = samples;
    clp_history_tidy(history, &found);
    samples = there;
    cr_assert(equal_to_samples(&found));
}

Test(history, a_profile_gets_series_and_marks)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_profile profile;
    struct clp_function f = {.file = (char[]){"a.py"}, .name = (char[]){"f"}, .first_line = 3};
    const struct clp_functions functions = {.items = &f, .count = 1};
    const struct clp_clock clock = {.start_nanos = 500, .start_ticks = 40};
    const struct clp_history_origin origin = {123, &functions, &clock, 2};

    clp_profile_init(&profile, &mem);
    history->start = 9;
    history->start_nanos = 100;
    history->marks.open[0] = (struct clp_function_span){.enter = 50, .leave = 90, .function = 0};
    history->marks.open[1] = (struct clp_function_span){.enter = 50, .leave = 90, .function = 77};
    history->marks.open_count = 2;
    look(10, 1000, 1);
    look(20, 2000, 3);
    cr_assert_eq(clp_history_add(history, &samples, &origin, &profile), CLP_OK);
    cr_assert_eq(profile.series_count, 3);
    cr_assert_eq(profile.series[0].pid, 123);
    cr_assert_eq(profile.series[2].pid, 8);
    cr_assert_eq(profile.series[0].mark_count, 1); /* there is no function 77 */
    cr_assert_str_eq(profile.series[0].marks[0].name, "f");
    cr_assert_eq(profile.series[0].marks[0].enter, 420);
    cr_assert_eq(profile.series[0].marks[0].leave, 500);
    clp_profile_clear(&profile);
}

Test(history, foreign_bytes_do_no_harm)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_function f = {.file = (char[]){"a.py"}, .name = (char[]){"f"}, .first_line = 3};
    const struct clp_functions functions = {.items = &f, .count = 1};
    const struct clp_clock clock = {.start_nanos = UINT64_MAX, .start_ticks = 1};
    const struct clp_history_origin origin = {1, &functions, &clock, 1e300};
    unsigned random = 1;

    for (int round = 0; round < 20; round++) {
        struct clp_profile profile;
        struct clp_samples found;
        clp_profile_init(&profile, &mem);
        memset(history, 0, sizeof *history);
        for (size_t i = 0; i < 4000; i++) {
            random = random * 1103515245 + 12345;
            ((unsigned char *)history)[random % sizeof *history] = (unsigned char)(random >> 20);
        }
        history->marks.open_count = SIZE_MAX - (size_t)round;
        history->marks.closed_count = SIZE_MAX / 2;
        clp_history_tidy(history, &found);
        cr_assert_leq(found.count, CLP_SAMPLER_ROOM);
        found.count = found.count < 500 ? found.count : 500;
        cr_assert_eq(clp_history_add(history, &found, &origin, &profile), CLP_OK);
        clp_profile_clear(&profile);
    }
}
