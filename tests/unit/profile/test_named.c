/* SPDX-License-Identifier: MIT */
#include "profile/named.h"
#include "helpers.h"
#include "profile/profile_merge.h"

static struct clp_profile into, from;
static struct test_mem test;

static void set_up(void)
{
    struct clp_mem *mem = test_mem_init(&test, 0);

    clp_profile_init(&into, mem);
    clp_profile_init(&from, mem);
}

static void tear_down(void)
{
    clp_profile_clear(&into);
    clp_profile_clear(&from);
    test_mem_check_empty(&test);
}

TestSuite(named, .init = set_up, .fini = tear_down);

/* A profile with these counters, and a line with the numbers 1, 2, 3, 4 and 10, 20, 30, 40 for them. */
static void fill(struct clp_profile *profile, const char *const names[CLP_TALLY_COUNTERS])
{
    static const struct clp_measures measures = {.hits = 1, .counter1 = 1, .counter2 = 2, .counter3 = 3, .counter4 = 4,
                                                 .counter1_most = 10, .counter2_most = 20, .counter3_most = 30,
                                                 .counter4_most = 40};
    struct clp_profile_function *function;

    for (size_t i = 0; i < CLP_TALLY_COUNTERS; i++)
        cr_assert_eq(clp_profile_set_text(profile, clp_named_name(&profile->meta, i), names[i]), CLP_OK);
    cr_assert_eq(clp_profile_add_function(profile, "a.py", "f", 1, &function), CLP_OK);
    cr_assert_eq(clp_profile_add_line(profile, function, 2, &measures), CLP_OK);
}

static void check(const struct clp_measures *expected, const char *const names[CLP_TALLY_COUNTERS])
{
    cr_assert_eq(clp_profile_merge(&into, &from), CLP_OK);
    cr_expect(test_same_measures(&into.functions[0].lines[0].measures, expected));
    for (size_t i = 0; i < CLP_TALLY_COUNTERS; i++)
        cr_expect(test_same_text(*clp_named_name(&into.meta, i), names[i]), "%zu", i);
}

Test(named, the_same_ones_add_up)
{
    fill(&into, (const char *const[]){"a", "b", "c", "d"});
    fill(&from, (const char *const[]){"a", "b", "c", "d"});
    check(&(struct clp_measures){.hits = 2, .counter1 = 2, .counter2 = 4, .counter3 = 6, .counter4 = 8,
                                 .counter1_most = 10, .counter2_most = 20, .counter3_most = 30, .counter4_most = 40},
          (const char *const[]){"a", "b", "c", "d"});
}

Test(named, each_goes_to_its_name)
{
    fill(&into, (const char *const[]){"a", "b", "c", "d"});
    fill(&from, (const char *const[]){"d", "a", "b", "c"});
    check(&(struct clp_measures){.hits = 2, .counter1 = 3, .counter2 = 5, .counter3 = 7, .counter4 = 5,
                                 .counter1_most = 20, .counter2_most = 30, .counter3_most = 40, .counter4_most = 40},
          (const char *const[]){"a", "b", "c", "d"});
}

Test(named, what_finds_no_place_is_dropped)
{
    fill(&into, (const char *const[]){"a", "b", "c", "d"});
    fill(&from, (const char *const[]){"x", "b", "y", "z"});
    check(&(struct clp_measures){.hits = 2, .counter1 = 1, .counter2 = 4, .counter3 = 3, .counter4 = 4,
                                 .counter1_most = 10, .counter2_most = 20, .counter3_most = 30, .counter4_most = 40},
          (const char *const[]){"a", "b", "c", "d"});
}

static void fill_device(struct clp_profile *profile, size_t place, const char *name, const struct clp_measures *measures)
{
    struct clp_profile_function *function;

    cr_assert_eq(clp_profile_set_text(profile, clp_named_name(&profile->meta, CLP_NAMED_DEVICE + place), name), CLP_OK);
    if (profile->function_count == 0)
        cr_assert_eq(clp_profile_add_function(profile, "a.py", "f", 1, &function), CLP_OK);
    if (profile->functions[0].line_count == 0)
        cr_assert_eq(clp_profile_add_line(profile, &profile->functions[0], 2, measures), CLP_OK);
}

/* One process saw the processor's tensors first, the other those of its GPU. */
Test(named, devices_are_told_apart_by_their_names)
{
    struct clp_measures first = {.hits = 1, .device1_allocated = 10, .device1_freed = 4, .device1_net = 6,
                                 .device1_peak = 8, .device1_reserved = -16};
    struct clp_measures second = {.hits = 1, .device1_allocated = 100, .device1_freed = 40, .device1_net = 60,
                                  .device1_peak = 80, .device1_reserved = 160, .device2_allocated = 5,
                                  .device2_peak = 5, .device_time = 7, .device_wait = 8, .launches = 9};
    const char *what;

    fill_device(&into, 0, "cpu", &first);
    fill_device(&from, 0, "cuda:0", &second);
    fill_device(&from, 1, "cpu", &second);
    cr_assert_eq(clp_profile_merge(&into, &from), CLP_OK);
    struct clp_measures sum = {.hits = 2, .device1_allocated = 15, .device1_freed = 4, .device1_net = 6,
                               .device1_peak = 8, .device1_reserved = -16, .device2_allocated = 100,
                               .device2_freed = 40, .device2_net = 60, .device2_peak = 80, .device2_reserved = 160,
                               .device_time = 7, .device_wait = 8, .launches = 9};
    cr_expect(test_same_measures(&into.functions[0].lines[0].measures, &sum));
    cr_expect_str_eq(clp_named_of(&into.meta, CLP_MEASURE_device2_peak, &what), "cuda:0");
    cr_expect_str_eq(what, "peak");
    cr_expect_null(clp_named_of(&into.meta, CLP_MEASURE_device3_peak, &what));
    cr_expect_null(clp_named_of(&into.meta, CLP_MEASURE_time, &what));
}

Test(named, a_merge_survives_want_of_memory)
{
    fill(&from, (const char *const[]){"a", "b", "c", "d"});
    size_t calls = test.calls;
    for (size_t fail_at = 1; fail_at < 20; fail_at++) {
        struct clp_profile sum;
        clp_profile_init(&sum, from.mem);
        test.fail_at = test.calls + fail_at;
        (void)clp_profile_merge(&sum, &from);
        test.fail_at = 0;
        clp_profile_clear(&sum);
    }
    cr_expect_gt(test.calls, calls);
}
