/* SPDX-License-Identifier: MIT */
#include "diff/align.h"
#include "helpers.h"

static struct test_mem test;
static struct clp_align align;

static void set_up(void)
{
    align = (struct clp_align){.mem = test_mem_init(&test, 0)};
}

static void tear_down(void)
{
    test_mem_check_empty(&test);
}

TestSuite(align, .init = set_up, .fini = tear_down);

/* Letters are items. `wanted` has for each of a's the place in b as a letter, '-' for none. */
static void check(const char *a, const char *b, const char *wanted)
{
    size_t a_count = strlen(a), b_count = strlen(b), to[64];
    uint64_t left[64], right[64];
    char found[65] = "";

    for (size_t i = 0; i < a_count; i++)
        left[i] = (unsigned char)a[i];
    for (size_t i = 0; i < b_count; i++)
        right[i] = (unsigned char)b[i];
    cr_assert_eq(clp_align_items(&align, left, a_count, right, b_count, to), CLP_OK);
    for (size_t i = 0; i < a_count; i++)
        found[i] = to[i] == CLP_ALIGN_NONE ? '-' : (char)('0' + to[i]);
    cr_assert_str_eq(found, wanted, "%s and %s: %s", a, b, found);
}

Test(align, what_was_edited_finds_its_place)
{
    check("", "", "");
    check("abc", "", "---");
    check("", "abc", "");
    check("abc", "abc", "012");
    check("abc", "xabc", "123");   /* a line above */
    check("abc", "abxc", "013");   /* one within */
    check("abcd", "abd", "01-2");  /* one gone */
    check("abcd", "axcd", "0-23"); /* one changed */
    check("abc", "xyz", "---");
    check("abcdef", "defabc", "---012"); /* moved: one of the halves stays */
}

Test(align, repeated_items_keep_their_order)
{
    check("aab", "ab", "0-1");
    check("ab", "aab", "02");
    check("xaxbx", "xbx", "0--12");
    check("-a-b-c", "-a-x-b-c", "012567");
    check("aaaa", "aaa", "012-");
}

/* 1000 lines, of which each end was changed and into which 300 were put: further than a window, and
 * more than the longest common subsequence would be asked for. */
Test(align, what_stands_once_holds_a_long_text_together)
{
    uint64_t a[1000], b[1300];
    size_t to[1000];

    for (size_t i = 0; i < 1000; i++)
        a[i] = i;
    for (size_t i = 0; i < 1300; i++)
        b[i] = i < 500 ? i : i < 800 ? 5000 + i % 7 : i - 300;
    b[0] = b[1299] = 9999;
    cr_assert_eq(clp_align_items(&align, a, 1000, b, 1300, to), CLP_OK);
    for (size_t i = 1; i < 999; i++)
        cr_assert_eq(to[i], i < 500 ? i : i + 300, "line %zu is %zu", i, to[i]);
    cr_assert_eq(to[0], CLP_ALIGN_NONE);
    cr_assert_eq(to[999], CLP_ALIGN_NONE);
}

/* Numbers that repeat with a period that no seed of rand() changes. */
static uint64_t next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

static void check_sound(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count,
                        const size_t *to)
{
    size_t next_free = 0;

    for (size_t i = 0; i < a_count; i++) {
        if (to[i] == CLP_ALIGN_NONE)
            continue;
        cr_assert_lt(to[i], b_count);
        cr_assert_geq(to[i], next_free, "the places do not ascend");
        cr_assert_eq(a[i], b[to[i]], "items that differ are taken for each other");
        next_free = to[i] + 1;
    }
}

Test(align, whatever_comes_pairs_are_equal_and_ascend)
{
    uint64_t seed = 1, a[200], b[200];
    size_t to[200];

    for (int round = 0; round < 3000; round++) {
        size_t a_count = next(&seed) % 200, b_count = next(&seed) % 200;
        uint64_t kinds = 1 + next(&seed) % 60;
        for (size_t i = 0; i < a_count; i++)
            a[i] = next(&seed) % kinds;
        for (size_t i = 0; i < b_count; i++)
            b[i] = i < a_count && next(&seed) % 4 != 0 ? a[i] : next(&seed) % kinds;
        cr_assert_eq(clp_align_items(&align, a, a_count, b, b_count, to), CLP_OK);
        check_sound(a, a_count, b, b_count, to);
    }
}

/* The ways to make an aligner slow: nothing unique, all unique in the other order, nested blocks
 * of which each level has one anchor, two kinds by turns. */
static uint64_t hostile(int kind, size_t count, size_t i, bool other, uint64_t *seed)
{
    switch (kind) {
    case 0:
        return next(seed) % 2;
    case 1:
        return other ? count - i : i;
    case 2:
        return i % 3 == 0 ? (other ? count - i : i) : i % 7;
    case 3:
        return other ? i / 2 % 2 : i % 2;
    case 4:
        return next(seed) % (count / 3 + 1);
    default:
        return other ? (i * 7919) % count : i;
    }
}

static uint64_t steps_for(int kind, size_t count)
{
    uint64_t seed = 7, *a = malloc(count * sizeof *a), *b = malloc(count * sizeof *b);
    size_t *to = malloc(count * sizeof *to);

    for (size_t i = 0; i < count; i++) {
        a[i] = hostile(kind, count, i, false, &seed);
        b[i] = hostile(kind, count, i, true, &seed);
    }
    align.steps = 0;
    cr_assert_eq(clp_align_items(&align, a, count, b, count, to), CLP_OK);
    check_sound(a, count, b, count, to);
    free(a);
    free(b);
    free(to);
    return align.steps;
}

Test(align, no_input_takes_more_than_a_bounded_number_of_looks_at_an_item)
{
    for (int kind = 0; kind < 6; kind++) {
        cr_expect_lt(steps_for(kind, 5000), 5000 * 200, "kind %d", kind);
        cr_expect_lt(steps_for(kind, 200000), 200000 * 200, "kind %d", kind);
    }
}

Test(align, running_out_of_memory_leaves_nothing_behind)
{
    static const uint64_t a[] = {1, 2, 3, 4, 5, 6, 2, 2}, b[] = {9, 2, 4, 4, 3, 6, 5, 2, 1};
    size_t to[8];

    for (size_t fail_at = 1;; fail_at++) {
        align.mem = test_mem_init(&test, fail_at);
        clp_status status = clp_align_items(&align, a, 8, b, 9, to);
        test_mem_check_empty(&test);
        if (!test_mem_failed(&test))
            break;
        cr_assert_eq(status, CLP_NO_MEMORY, "call %zu", fail_at);
    }
}
