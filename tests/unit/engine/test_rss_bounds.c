/* SPDX-License-Identifier: MIT */
#include "engine/rss_bounds.h"
#include <criterion/criterion.h>

#define KIB UINT64_C(1024)
#define MIB (UINT64_C(1) << 20)
#define MICRO UINT64_C(1000)

static const struct clp_rss_bounds_facts small = {4 * KIB, 4 * KIB, 0, 200};
static const struct clp_rss_bounds_facts huge = {4 * KIB, 4 * KIB, 2 * MIB, 200};
static const struct clp_rss_bounds_facts several = {4 * KIB, 64 * KIB, 2 * MIB, 200};

static struct clp_rss_bounds of(const struct clp_rss_bounds_facts *facts, struct clp_thread_use use)
{
    return clp_rss_bounds_of(facts, &use, 0);
}

Test(reach, growth_is_page_faults)
{
    cr_expect_eq(of(&small, (struct clp_thread_use){.nanos = 1000 * MICRO}).grown, 0);
    cr_expect_eq(of(&small, (struct clp_thread_use){.faults = 7, .nanos = 1000 * MICRO}).grown,
                 28 * KIB);
    cr_expect_eq(of(&several, (struct clp_thread_use){.faults = 7}).grown, 7 * 64 * KIB);
}

Test(reach, a_huge_page_takes_time_to_clear)
{
    struct clp_thread_use use = {.faults = 20, .nanos = 20 * 100 * MICRO};

    cr_expect_geq(of(&huge, use).grown, 40 * MIB);
    cr_expect_leq(of(&huge, use).grown, 41 * MIB, "a page for each fault");
    use.nanos = 20 * MICRO;
    cr_expect_eq(of(&huge, use).grown, 80 * KIB, "no time for one");
    use = (struct clp_thread_use){.faults = 3, .waits = 2, .nanos = 150 * MICRO};
    cr_expect_eq(of(&huge, use).grown, 12 * KIB, "it woke and slept in that time");
    use.nanos = 5000 * MICRO;
    cr_expect_geq(of(&huge, use).grown, 6 * MIB);
}

Test(reach, a_file_comes_as_it_comes)
{
    struct clp_thread_use use = {.faults = 3};

    cr_expect_eq(clp_rss_bounds_of(&small, &use, MIB).grown, MIB + 12 * KIB);
    cr_expect_eq(clp_rss_bounds_of(&small, &use, 100 * MIB).grown, 6 * MIB + 12 * KIB);
    use.faults = 0;
    cr_expect_eq(clp_rss_bounds_of(&small, &use, MIB).grown, 0);
}

Test(reach, giving_back_takes_time)
{
    struct clp_thread_use use = {.waits = 1, .nanos = 100 * MICRO};

    cr_expect_eq(of(&small, use).released, 1000 * 4 * KIB);
    use.nanos = 0;
    cr_expect_eq(of(&small, use).released, 0);
    struct clp_rss_bounds_facts unknown = small;
    unknown.release_nanos = 0;
    cr_expect_geq(of(&unknown, use).released, UINT64_C(1) << 50, "nothing is known: anything");
}

Test(reach, waiting_is_told_from_being_kept_waiting)
{
    struct clp_rss_bounds reach = of(&small, (struct clp_thread_use){0});

    cr_expect(reach.ran_through && reach.never_waited);
    reach = of(&small, (struct clp_thread_use){.preemptions = 1});
    cr_expect(!reach.ran_through && reach.never_waited);
    reach = of(&small, (struct clp_thread_use){.waits = 1});
    cr_expect(!reach.ran_through && !reach.never_waited);
}
