/* SPDX-License-Identifier: MIT */
#include "profile/missed.h"
#include "helpers.h"
#include "profile/profile_merge.h"
#include <stdio.h>

static struct test_mem test;
static struct clp_profile a, b;

/* The text of a function: lines that ran, and missed lines behind a bar. */
static const char *text_of(const struct clp_profile *profile)
{
    static char text[256];
    const struct clp_profile_function *function = &profile->functions[0];
    size_t used = 0;

    for (size_t i = 0; i < function->line_count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%d ", (int)function->lines[i].line);
    used += (size_t)snprintf(text + used, sizeof text - used, "|");
    for (size_t i = 0; i < function->missed_count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, " %d", (int)function->missed[i]);
    return text;
}

/* Makes a profile of one function from lines that ran, and missed lines; each list ends with 0. */
static clp_status fill(struct clp_profile *profile, const int32_t *ran, const int32_t *missed)
{
    struct clp_profile_function *function;
    struct clp_measures once = {.hits = 1};
    clp_status status = clp_profile_add_function(profile, "a.py", "f", 1, &function);

    for (; *ran != 0 && status == CLP_OK; ran++)
        status = clp_profile_add_line(profile, function, *ran, &once);
    for (; *missed != 0 && status == CLP_OK; missed++)
        status = clp_missed_add(profile, function, *missed);
    return status;
}

static void start(size_t fail_at)
{
    struct clp_mem *mem = test_mem_init(&test, fail_at);

    clp_profile_init(&a, mem);
    clp_profile_init(&b, mem);
}

static void finish(void)
{
    clp_profile_clear(&a);
    clp_profile_clear(&b);
    test_mem_check_empty(&test);
}

#define LIST(...) ((const int32_t[]){__VA_ARGS__ __VA_OPT__(,) 0})

Test(missed, merges)
{
    const struct {
        const int32_t *ran, *missed, *other_ran, *other_missed;
        const char *sum;
    } cases[] = {
        {LIST(1), LIST(2, 3), LIST(1, 2), LIST(3), "1 2 | 3"},
        {LIST(1, 2), LIST(3), LIST(1), LIST(2, 3), "1 2 | 3"},
        {LIST(1, 3), LIST(2, 4), LIST(1, 2), LIST(3, 4), "1 2 3 | 4"},
        {LIST(), LIST(1, 5, 9), LIST(), LIST(2, 5, 10), "| 1 2 5 9 10"},
        {LIST(4), LIST(), LIST(), LIST(3, 4, 5), "4 | 3 5"}, /* a file of an older version knows of none */
        {LIST(), LIST(3, 4, 5), LIST(4), LIST(), "4 | 3 5"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start(0);
        cr_assert_eq(fill(&a, cases[i].ran, cases[i].missed), CLP_OK);
        cr_assert_eq(fill(&b, cases[i].other_ran, cases[i].other_missed), CLP_OK);
        cr_assert_eq(clp_profile_merge(&a, &b), CLP_OK);
        cr_expect_str_eq(text_of(&a), cases[i].sum, "case %zu: %s", i, text_of(&a));
        finish();
    }
}

Test(missed, are_asked_for_in_order)
{
    size_t at = 0;

    start(0);
    cr_assert_eq(fill(&a, LIST(1), LIST(3, 7)), CLP_OK);
    cr_expect_not(clp_missed_is(&a.functions[0], &at, 2));
    cr_expect(clp_missed_is(&a.functions[0], &at, 3));
    cr_expect(clp_missed_is(&a.functions[0], &at, 3));
    cr_expect_not(clp_missed_is(&a.functions[0], &at, 6));
    cr_expect(clp_missed_is(&a.functions[0], &at, 7));
    cr_expect_not(clp_missed_is(&a.functions[0], &at, INT64_MAX));
    finish();
}

Test(missed, memory_may_run_out)
{
    clp_status status = CLP_NO_MEMORY;
    size_t fail_at = 1;

    for (; status != CLP_OK; fail_at++) {
        start(fail_at);
        status = fill(&a, LIST(1), LIST(2, 3));
        if (status == CLP_OK)
            status = fill(&b, LIST(2), LIST(1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
        if (status == CLP_OK)
            status = clp_profile_merge(&a, &b);
        cr_assert(status == CLP_OK || test_mem_failed(&test));
        if (status == CLP_OK)
            cr_expect_str_eq(text_of(&a), "1 2 | 3 4 5 6 7 8 9 10 11 12");
        finish();
    }
    cr_assert_gt(fail_at, 5);
}
