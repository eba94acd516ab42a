/* SPDX-License-Identifier: MIT */
#include "engine/engine.h"
#include "engine/groups.h"
#include "helpers.h"
#include "engine/reaping.h"
#include "profile/snapshot.h"
#include <stdio.h>

static uint32_t find(struct clp_groups *groups, const char *name)
{
    uint32_t group = UINT32_MAX;

    cr_assert_eq(clp_groups_find(groups, name, &group), CLP_OK);
    return group;
}

Test(groups, equal_names_share_one)
{
    struct test_mem test;
    struct clp_groups groups;

    clp_groups_init(&groups, test_mem_init(&test, 0));
    cr_assert_eq(find(&groups, "a"), 1);
    cr_assert_eq(find(&groups, "b"), 2);
    cr_assert_eq(find(&groups, "a"), 1);
    cr_assert_str_eq(clp_groups_name(&groups, 2), "b");
    cr_assert_str_eq(clp_groups_name(&groups, 0), "no name");
    clp_groups_clear(&groups);
    test_mem_check_empty(&test);
}

Test(groups, names_without_end_share_the_last)
{
    struct test_mem test;
    struct clp_groups groups;
    char name[32];

    clp_groups_init(&groups, test_mem_init(&test, 0));
    for (uint32_t i = 0; i < 5 * CLP_GROUPS_MOST; i++) {
        (void)snprintf(name, sizeof name, "thread %u", i);
        uint32_t group = find(&groups, name);
        cr_assert_eq(group, i < CLP_GROUPS_MOST ? i + 1 : CLP_GROUPS_MOST);
    }
    cr_assert_eq(find(&groups, "thread 7"), CLP_GROUPS_MOST); /* it is not looked for any more */
    cr_assert_str_eq(clp_groups_name(&groups, CLP_GROUPS_MOST), "other threads");
    clp_groups_clear(&groups);
    test_mem_check_empty(&test);
}

/* One thread of the group has ended, one runs. */
static void run_thread(struct clp_engine *engine, uint32_t group, uint64_t lines, bool ends)
{
    struct clp_thread *thread = clp_engine_new_thread(engine, 0, 0);

    thread->group = group;
    clp_engine_enter(thread, 0, NULL, 1);
    for (uint64_t i = 0; i < lines; i++)
        clp_engine_line(thread, 2, 2 + i);
    thread->ended = ends;
    clp_engine_reap(engine);
}

static void check_function(const struct clp_profile_function *function, const char *name,
                           uint64_t hits)
{
    cr_assert_str_eq(function->name, name);
    cr_assert_eq(function->line_count, 1);
    cr_assert_eq(function->lines[0].measures.hits, hits);
}

Test(groups, a_view_tells_its_functions_by_group)
{
    struct test_mem test;
    struct clp_mem *mem = test_mem_init(&test, 0);
    struct clp_pages pages = {0}, view_pages = {0};
    struct clp_function wanted = {.file = "a.py", .name = "f", .first_line = 1, .lowest_line = 1,
                                  .line_count = 2};
    struct clp_engine engine;
    struct clp_views views;
    struct clp_view view;
    struct clp_engine_copy ended;
    struct clp_profile profile;
    uint32_t function;

    clp_engine_init(&engine, mem, &pages);
    clp_views_init(&views, &engine, &view_pages);
    clp_view_init(&view, &views, false);
    clp_profile_init(&profile, mem);
    cr_assert_eq(clp_functions_add(&engine.functions, &wanted, &function), CLP_OK);
    cr_assert_eq(clp_view_add(&view, function, 0), CLP_OK);
    cr_assert_eq(clp_view_set_counting(&view, true, 0), CLP_OK);
    uint32_t a = find(&engine.groups, "a"), b = find(&engine.groups, "b");
    run_thread(&engine, b, 1, true);
    run_thread(&engine, a, 10, true);
    run_thread(&engine, 0, 1000, true);
    run_thread(&engine, a, 100, false);

    cr_assert_eq(clp_engine_copy_init(&ended, &engine, &views.scratch, 2000), CLP_OK);
    cr_assert_eq(clp_snapshot_take_view(&view, &ended, &(struct clp_snapshot_wish){.nanos_per_tick = 1}, &profile), CLP_OK);
    clp_engine_copy_clear(&ended);
    cr_assert_eq(profile.function_count, 3);
    check_function(&profile.functions[0], "f [a]", 110);
    check_function(&profile.functions[1], "f [b]", 1);
    check_function(&profile.functions[2], "f [no name]", 1000);

    clp_profile_clear(&profile);
    clp_view_clear(&view, 2000);
    clp_views_clear(&views);
    clp_engine_clear(&engine);
    test_mem_check_empty(&test);
}
