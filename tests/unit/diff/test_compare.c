/* SPDX-License-Identifier: MIT */
/* Expected values are by hand. Times are in milliseconds here, MS nanoseconds each. */
#include "diff/compare.h"
#include "diff/diff_text.h"
#include "diff/limits.h"
#include "helpers.h"
#include "profile/texts.h"
#include <math.h>
#include <stdio.h>

#define MS 1000000u

struct fixture {
    struct test_mem test;
    struct clp_profile profiles[2][3];
    size_t counts[2];
    struct clp_compare_options options;
    struct clp_comparison comparison;
};

static struct fixture f;

static void set_up(void)
{
    f = (struct fixture){.counts = {1, 1}, .options = clp_compare_defaults()};
    test_mem_init(&f.test, 0);
    for (int i = 0; i < 6; i++) {
        clp_profile_init(&f.profiles[i / 3][i % 3], &f.test.mem);
        f.profiles[i / 3][i % 3].meta.has_memory = true;
    }
    f.comparison.mem = &f.test.mem;
}

static void tear_down(void)
{
    clp_comparison_clear(&f.comparison);
    for (int i = 0; i < 6; i++)
        clp_profile_clear(&f.profiles[i / 3][i % 3]);
    test_mem_check_empty(&f.test);
}

TestSuite(compare, .init = set_up, .fini = tear_down);

static struct clp_profile_function *add(int side, int file, const char *path, const char *name,
                                        int32_t line, const char *source)
{
    struct clp_profile *profile = &f.profiles[side][file];
    struct clp_profile_function *function;

    cr_assert_eq(clp_profile_add_function(profile, path, name, line, &function), CLP_OK);
    if (source != NULL)
        cr_assert_eq(clp_profile_set_source(profile, function, source, strlen(source)), CLP_OK);
    return function;
}

/* Hits and milliseconds; the function's total grows by them. */
static void hit(int side, int file, struct clp_profile_function *function, int32_t line,
                uint64_t hits, uint64_t time)
{
    struct clp_measures measures = {.hits = hits, .time = time * MS, .self = time * MS,
                                    .max = time * MS};

    cr_assert_eq(clp_profile_add_line(&f.profiles[side][file], function, line, &measures), CLP_OK);
    function->total += time * MS;
}

static void compare(void)
{
    struct clp_compare_side sides[2] = {{f.profiles[0], f.counts[0]}, {f.profiles[1], f.counts[1]}};

    clp_comparison_clear(&f.comparison);
    cr_assert_eq(clp_comparison_make(&f.comparison, &f.test.mem, &f.options, sides), CLP_OK);
}

/* All rows of a function, as "OLD:NEW verdicts" with commas between; verdicts by first letter. */
static const char *rows_of(size_t place)
{
    static char text[4096];
    const struct clp_compared_function *function = &f.comparison.functions[place];
    size_t at = 0;

    text[0] = 0;
    for (size_t i = 0; i < function->row_count; i++) {
        const struct clp_compared_row *row = &function->rows[i];
        unsigned verdicts = row->verdicts;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%lld%s%lld%s", i == 0 ? "" : " ",
                               row->has[0] ? (long long)row->line[0] : 0LL, row->edited ? "~" : ":",
                               row->has[1] ? (long long)row->line[1] : 0LL,
                               verdicts != 0 ? "=" : "");
        for (unsigned j = 0; j < CLP_VERDICTS; j++)
            if (verdicts >> j & 1)
                at += (size_t)snprintf(text + at, sizeof text - at, "%c",
                                       "sfgkNGmw"[j]); /* m: more, w: fewer hits */
    }
    return text;
}

static const struct clp_compared_row *row_at(size_t place, int64_t new_line)
{
    const struct clp_compared_function *function = &f.comparison.functions[place];

    for (size_t i = 0; i < function->row_count; i++)
        if (function->rows[i].has[CLP_NEW] && function->rows[i].line[CLP_NEW] == new_line)
            return &function->rows[i];
    cr_assert_fail("no line %lld", (long long)new_line);
    return NULL;
}

static struct clp_change change_at(size_t place, int64_t new_line, enum clp_measure measure)
{
    return clp_comparison_change(&f.comparison, &row_at(place, new_line)->samples, measure);
}

/* ---- lines ---- */

Test(compare, the_same_program_has_not_changed)
{
    for (int side = 0; side < 2; side++) {
        struct clp_profile_function *g = add(side, 0, "a.py", "g", 1, "def g():\n    pass\n");
        hit(side, 0, g, 2, 5, 30);
    }
    compare();
    cr_assert_eq(f.comparison.function_count, 1);
    cr_assert_str_eq(rows_of(0), "1:1 2:2");
    cr_assert_eq(f.comparison.functions[0].verdicts, 0);
    cr_assert_eq(clp_comparison_count(&f.comparison).unchanged, 1);
}

Test(compare, a_line_above_moves_the_rest_and_a_changed_line_is_edited)
{
    struct clp_profile_function *g =
        add(CLP_OLD, 0, "a.py", "g", 1, "def g():\n    a = 1\n    sleep(0.01)\n    return a\n");
    hit(CLP_OLD, 0, g, 2, 1, 0);
    hit(CLP_OLD, 0, g, 3, 1, 10);
    hit(CLP_OLD, 0, g, 4, 1, 0);
    g = add(CLP_NEW, 0, "a.py", "g", 3,
            "def g():\n    # says why\n    a = 1\n    sleep(0.03)\n    extra()\n    return a\n");
    hit(CLP_NEW, 0, g, 5, 1, 0);
    hit(CLP_NEW, 0, g, 6, 1, 30);
    hit(CLP_NEW, 0, g, 7, 1, 4);
    hit(CLP_NEW, 0, g, 8, 1, 0);
    compare();
    cr_assert_str_eq(rows_of(0), "1:3 0:4 2:5 3~6=s 0:7=N 4:8");
    struct clp_change time = change_at(0, 6, CLP_MEASURE_time);
    cr_assert_eq(time.before.mean, 10.0 * MS);
    cr_assert_eq(time.after.mean, 30.0 * MS);
    cr_assert_eq(time.change, 20.0 * MS);
    cr_assert_eq(time.percent, 200);
    time = change_at(0, 7, CLP_MEASURE_time);
    cr_assert(time.changed && time.before.mean == 0 && isinf(time.percent));
}

Test(compare, an_indented_line_is_the_same_and_a_rewritten_one_is_not)
{
    struct clp_profile_function *g =
        add(CLP_OLD, 0, "a.py", "g", 1, "def g():\n    work(1)\n    x = old_way(a, b)\n");
    hit(CLP_OLD, 0, g, 2, 1, 50);
    hit(CLP_OLD, 0, g, 3, 1, 50);
    g = add(CLP_NEW, 0, "a.py", "g", 1,
            "def g():\n    with lock:\n        work(1)\n    for item in things:\n        go(item)\n");
    hit(CLP_NEW, 0, g, 2, 1, 0);
    hit(CLP_NEW, 0, g, 3, 1, 20);
    hit(CLP_NEW, 0, g, 4, 1, 20);
    hit(CLP_NEW, 0, g, 5, 1, 20);
    compare();
    cr_assert_str_eq(rows_of(0), "1:1 0:2=N 2~3=f 3:0=G 0:4=N 0:5=N");
}

Test(compare, half_of_the_text_makes_an_edited_line)
{
    static const struct {
        const char *lines[2], *rows;
    } cases[] = {
        {{"abcdef", "abcXXX"}, "1:1 2~2"}, /* the first half */
        {{"abcdef", "XXXdef"}, "1:1 2~2"}, /* the second */
        {{"abcdef", "aXXdef"}, "1:1 2~2"}, /* from both ends */
        {{"abcdef", "abXXXX"}, "1:1 2:0 0:2"},
        {{"abcdef", "abcdefghijkl"}, "1:1 2~2"}, /* half of the longer */
        {{"abcdef", "abcdefghijklm"}, "1:1 2:0 0:2"},
        {{"aa", "aaaa"}, "1:1 2~2"},
        {{"   abcd", "ab\t"}, "1:1 2~2"}, /* white space is no text */
        {{"abcdef", ""}, "1:1 2:0 0:2"},
        {{"", "  "}, "1:1 2~2"},
        {{"abc\n    more()", "more()"}, "1:1 2:0 3~2"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int side = 0; side < 2; side++) {
            char text[128];
            snprintf(text, sizeof text, "def g():\n%s\n", cases[i].lines[side]);
            clp_profile_clear(&f.profiles[side][0]);
            add(side, 0, "a.py", "g", 1, text);
        }
        compare();
        cr_expect_str_eq(rows_of(0), cases[i].rows, "case %zu: %s", i, rows_of(0));
    }
}

Test(compare, without_text_lines_go_by_their_distance)
{
    struct clp_profile_function *g = add(CLP_OLD, 0, "a.py", "g", 10, NULL);
    hit(CLP_OLD, 0, g, 12, 1, 10);
    hit(CLP_OLD, 0, g, 13, 1, 10);
    g = add(CLP_NEW, 0, "a.py", "g", 20, "def g():\n    a\n    b\n    c\n");
    hit(CLP_NEW, 0, g, 22, 3, 10);
    hit(CLP_NEW, 0, g, 40, 1, 10);
    compare();
    cr_assert_str_eq(rows_of(0), "0:20 0:21 12:22=m 13:23=fw 0:40=N");
}

/* ---- functions ---- */

static int verdict_of(const char *name)
{
    for (size_t i = 0; i < f.comparison.function_count; i++) {
        const struct clp_compared_function *function = &f.comparison.functions[i];
        const struct clp_profile_function *one = function->sides[CLP_NEW] != NULL
                                                     ? function->sides[CLP_NEW]
                                                     : function->sides[CLP_OLD];
        if (strcmp(one->name, name) == 0)
            return (int)function->verdicts;
    }
    return -1;
}

Test(compare, a_renamed_function_is_gone_and_new)
{
    hit(CLP_OLD, 0, add(CLP_OLD, 0, "a.py", "before", 1, "def x():\n    a\n"), 2, 1, 10);
    hit(CLP_OLD, 0, add(CLP_OLD, 0, "a.py", "stays", 9, NULL), 10, 1, 10);
    hit(CLP_NEW, 0, add(CLP_NEW, 0, "a.py", "after", 1, "def x():\n    a\n"), 2, 1, 10);
    hit(CLP_NEW, 0, add(CLP_NEW, 0, "a.py", "stays", 3, NULL), 4, 1, 12);
    compare();
    cr_assert_eq(f.comparison.function_count, 3);
    cr_assert_eq(verdict_of("before"), 1 << CLP_VERDICT_GONE);
    cr_assert_eq(verdict_of("after"), 1 << CLP_VERDICT_NEW);
    cr_assert_eq(verdict_of("stays"), 1 << CLP_VERDICT_SLOWER);
}

/* Which new file's g each old file's g is, as letters; '-' for none. */
static void check_files(const char *const *old_files, const char *const *new_files,
                        const char *wanted)
{
    char found[32] = "";
    size_t at = 0;

    for (int side = 0; side < 2; side++) {
        const char *const *files = side == 0 ? old_files : new_files;
        clp_profile_clear(&f.profiles[side][0]);
        for (int32_t i = 0; files[i] != NULL; i++)
            add(side, 0, files[i], "g", i + 1, NULL);
    }
    compare();
    for (size_t i = 0; i < f.profiles[0][0].function_count; i++, at++) {
        found[at] = '-';
        for (size_t j = 0; j < f.comparison.function_count; j++) {
            const struct clp_compared_function *function = &f.comparison.functions[j];
            if (function->sides[CLP_OLD] == &f.profiles[0][0].functions[i] &&
                function->sides[CLP_NEW] != NULL)
                found[at] = (char)('a' + (function->sides[CLP_NEW] - f.profiles[1][0].functions));
        }
    }
    cr_assert_str_eq(found, wanted, "%s and %s", old_files[0], new_files[0]);
}

#define FILES(...) ((const char *const[]){__VA_ARGS__, NULL})

Test(compare, files_match_by_the_longest_common_tail_where_that_is_unambiguous)
{
    check_files(FILES("/a/x.py"), FILES("/a/x.py"), "a");
    check_files(FILES("/a/x.py"), FILES("/b/x.py"), "a");
    check_files(FILES("x.py"), FILES("/b/c/x.py"), "a");
    check_files(FILES("/a/x.py"), FILES("/a/y.py"), "-");
    check_files(FILES("/a/p/i.py", "/a/q/i.py"), FILES("/b/q/i.py", "/b/p/i.py"), "ba");
    /* which of the two it was nobody knows */
    check_files(FILES("/a/x.py"), FILES("/b/x.py", "/c/x.py"), "-");
    check_files(FILES("/a/p/i.py", "/a/q/i.py"), FILES("/b/p/i.py", "/b/r/i.py"), "a-");
    /* the same path goes first, whatever else is called so */
    check_files(FILES("/a/x.py", "/b/x.py"), FILES("/b/x.py", "/a/x.py"), "ba");
    check_files(FILES("/a/x.py"), FILES("/c/x.py", "/a/x.py"), "b");
    /* a relative path is whole */
    check_files(FILES("main.py", "sub/main.py"), FILES("/w/sub/main.py", "/w/main.py"), "ba");
    check_files(FILES("a/bx.py"), FILES("/x.py"), "-");
    check_files(FILES(""), FILES(""), "a");
    check_files(FILES("", "/", "//", "a//b.py"), FILES("b.py"), "---a");
}

Test(compare, functions_of_one_name_match_by_text_then_first_line_then_order)
{
    static const char getter[] = "@property\ndef x(self):\n    return 1\n";
    static const char getter2[] = "@property\ndef x(self):\n    return 2\n";
    static const char setter[] = "@x.setter\ndef x(self, v):\n    pass\n";

    add(CLP_OLD, 0, "a.py", "C.x", 1, getter);
    add(CLP_OLD, 0, "a.py", "C.x", 5, setter);
    add(CLP_NEW, 0, "a.py", "C.x", 2, "@x.deleter\ndef x(self):\n    pass\n");
    add(CLP_NEW, 0, "a.py", "C.x", 6, getter2);
    add(CLP_NEW, 0, "a.py", "C.x", 9, setter);
    compare();
    cr_assert_null(f.comparison.functions[0].sides[CLP_OLD]);
    cr_assert_eq(f.comparison.functions[1].sides[CLP_OLD]->first_line, 1);
    cr_assert_eq(f.comparison.functions[2].sides[CLP_OLD]->first_line, 5);
    add(CLP_OLD, 0, "l.py", "<lambda>", 1, "a = lambda: 1\n");
    add(CLP_OLD, 0, "l.py", "<lambda>", 2, "b = lambda: 2\n");
    add(CLP_NEW, 0, "l.py", "<lambda>", 4, "c = lambda: 3\n");
    add(CLP_NEW, 0, "l.py", "<lambda>", 5, "d = lambda: 4\n");
    compare();
    cr_assert_eq(f.comparison.functions[3].sides[CLP_OLD]->first_line, 1);
    cr_assert_eq(f.comparison.functions[4].sides[CLP_OLD]->first_line, 2);
}

Test(compare, versions_match_by_text_whatever_their_numbers_are)
{
    add(CLP_OLD, 0, "a.py", "f", 1, "def f():\n    return 1\n");
    add(CLP_OLD, 0, "a.py", "f (2)", 1, "def f():\n    return 2\n");
    add(CLP_NEW, 0, "a.py", "f", 1, "def f():\n    return 2\n");
    compare();
    cr_assert_str_eq(f.comparison.functions[0].sides[CLP_OLD]->name, "f (2)");
}

/* ---- noise and several files ---- */

Test(compare, changes_within_the_noise_floor_are_none)
{
    static const struct {
        uint64_t hits[2], nanos[2];
        bool changed;
    } cases[] = {
        {{1, 1}, {5 * MS, 6 * MS}, false},          /* 1 ms is the floor, not beyond it */
        {{1, 1}, {5 * MS, 6 * MS + 1}, true},
        {{1, 1}, {6 * MS + 1, 5 * MS}, true},       /* both ways */
        {{100000, 100000}, {5 * MS, 10 * MS}, false}, /* 5 ms by hits */
        {{100000, 100000}, {5 * MS, 10 * MS + 1}, true},
        {{1, 100000}, {5 * MS, 10 * MS}, false},    /* of the side with more hits */
        {{100000, 1}, {5 * MS, 10 * MS}, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int side = 0; side < 2; side++) {
            struct clp_measures measures = {.hits = cases[i].hits[side],
                                            .time = cases[i].nanos[side]};
            clp_profile_clear(&f.profiles[side][0]);
            struct clp_profile_function *g = add(side, 0, "a.py", "g", 1, NULL);
            cr_assert_eq(clp_profile_add_line(&f.profiles[side][0], g, 2, &measures), CLP_OK);
        }
        compare();
        cr_assert_eq(change_at(0, 2, CLP_MEASURE_time).changed, cases[i].changed, "case %zu", i);
    }
}

Test(compare, memory_has_a_floor_of_its_own_and_hits_have_none)
{
    static const uint64_t grown[2] = {0, 65536};
    for (int side = 0; side < 2; side++) {
        struct clp_profile_function *g = add(side, 0, "a.py", "g", 1, NULL);
        struct clp_measures measures = {.hits = 1 + (uint64_t)side, .grown = grown[side]};
        cr_assert_eq(clp_profile_add_line(&f.profiles[side][0], g, 2, &measures), CLP_OK);
        measures.grown += (uint64_t)side;
        cr_assert_eq(clp_profile_add_line(&f.profiles[side][0], g, 3, &measures), CLP_OK);
    }
    compare();
    cr_assert_str_eq(rows_of(0), "2:2=m 3:3=gm");
}

Test(compare, several_files_are_averaged_and_ranges_that_overlap_are_no_change)
{
    static const uint64_t times[2][3] = {{10, 20, 30}, {28, 70, 82}};
    static const uint64_t steady[2][3] = {{10, 20, 30}, {31, 32, 33}};
    f.counts[0] = f.counts[1] = 3;
    for (int side = 0; side < 2; side++) {
        for (int file = 0; file < 3; file++) {
            struct clp_profile_function *g = add(side, file, "a.py", "g", 1, NULL);
            hit(side, file, g, 2, 1, times[side][file]);
            hit(side, file, g, 3, 1, steady[side][file]);
        }
    }
    compare();
    struct clp_change time = change_at(0, 2, CLP_MEASURE_time);
    cr_assert_eq(time.before.mean, 20.0 * MS);
    cr_assert_eq(time.after.mean, 60.0 * MS);
    cr_assert_eq(time.before.low, 10.0 * MS);
    cr_assert_eq(time.after.high, 82.0 * MS);
    cr_assert_not(time.changed, "30 and 28 overlap");
    time = change_at(0, 3, CLP_MEASURE_time);
    cr_assert(time.changed && time.change == 12.0 * MS && time.percent == 60);
}

Test(compare, a_file_that_lacks_a_line_counts_as_zero)
{
    f.counts[CLP_NEW] = 2;
    hit(CLP_OLD, 0, add(CLP_OLD, 0, "a.py", "g", 1, NULL), 2, 4, 10);
    hit(CLP_NEW, 0, add(CLP_NEW, 0, "a.py", "g", 1, NULL), 2, 4, 30);
    hit(CLP_NEW, 1, add(CLP_NEW, 1, "/b/a.py", "g", 5, NULL), 9, 1, 1);
    compare();
    cr_assert_eq(f.comparison.function_count, 1);
    struct clp_change hits = change_at(0, 2, CLP_MEASURE_hits);
    cr_assert_eq(hits.after.mean, 2);
    cr_assert_eq(hits.after.low, 0);
    cr_assert_not(hits.changed);
    cr_assert_eq(change_at(0, 5, CLP_MEASURE_hits).after.mean, 0.5);
}

Test(compare, texts_that_differ_within_a_side_are_aligned_too)
{
    f.counts[CLP_OLD] = 2;
    hit(CLP_OLD, 0, add(CLP_OLD, 0, "a.py", "g", 1, "def g():\n    a\n    b\n"), 3, 1, 10);
    struct clp_profile_function *g =
        add(CLP_OLD, 1, "a.py", "g", 1, "def g():\n    quite_another()\n    a\n    b\n");
    hit(CLP_OLD, 1, g, 4, 1, 20);
    hit(CLP_OLD, 1, g, 2, 1, 20);
    hit(CLP_NEW, 0, add(CLP_NEW, 0, "a.py", "g", 1, "def g():\n    a\n    b\n"), 3, 1, 15);
    compare();
    cr_assert_eq(change_at(0, 3, CLP_MEASURE_time).before.mean, 15.0 * MS);
    cr_assert_eq(f.comparison.lost, 1);
}

Test(compare, nothing_on_a_side_counts_from_zero)
{
    f.counts[CLP_OLD] = 0;
    hit(CLP_NEW, 0, add(CLP_NEW, 0, "a.py", "g", 1, NULL), 2, 4, 30);
    compare();
    cr_assert_eq(verdict_of("g"), 1 << CLP_VERDICT_NEW);
    cr_assert_eq(change_at(0, 2, CLP_MEASURE_time).change, 30.0 * MS);
    f.counts[CLP_NEW] = 0;
    compare();
    cr_assert_eq(f.comparison.function_count, 0);
}

Test(compare, what_a_side_does_not_know_is_told)
{
    f.profiles[CLP_OLD][0].meta.has_memory = false;
    struct clp_measures measures = {.hits = 1, .time = 5 * MS};
    struct clp_profile_function *g = add(CLP_OLD, 0, "a.py", "g", 1, NULL);
    cr_assert_eq(clp_profile_add_line(&f.profiles[CLP_OLD][0], g, 2, &measures), CLP_OK);
    compare();
    cr_assert(f.comparison.known[CLP_OLD][CLP_MEASURE_time]);
    cr_assert(f.comparison.known[CLP_OLD][CLP_MEASURE_hits]);
    cr_assert_not(f.comparison.known[CLP_OLD][CLP_MEASURE_increment]);
    cr_assert_not(f.comparison.known[CLP_OLD][CLP_MEASURE_self], "a profile with times only");
    cr_assert(f.comparison.known[CLP_NEW][CLP_MEASURE_increment]);
}

/* A hostile pair: many functions of one name, many files of one name, long texts of equal lines. */
Test(compare, hostile_profiles_take_linear_time)
{
    char path[64], *text = malloc(2 * 50000 + 1);

    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < 50000; i++)
            memcpy(text + 2 * i, (i * 7 + (size_t)side * i / 3) % 5 < 2 ? "a\n" : "b\n", 2);
        text[2 * 50000] = 0;
        add(side, 0, "text.py", "g", 1, text);
        for (int32_t i = 0; i < 20000; i++) {
            snprintf(path, sizeof path, "%d/i.py", i + side);
            add(side, 0, path, "g", 1, NULL);
            snprintf(path, sizeof path, "x = %d\n", i % 3 + side);
            add(side, 0, "many.py", "g", i + 1, path);
        }
    }
    free(text);
    compare();
    cr_assert_lt(f.comparison.steps, UINT64_C(200) * 2 * (50000 + 20000 + 20000));
}

static void fail_everywhere(size_t old_count, size_t new_count)
{
    struct clp_compare_side sides[2] = {{f.profiles[0], old_count}, {f.profiles[1], new_count}};
    for (size_t fail_at = 1;; fail_at++) {
        struct clp_comparison comparison;
        struct test_mem failing;
        struct clp_mem *mem = test_mem_init(&failing, fail_at);
        clp_status status = clp_comparison_make(&comparison, mem, &f.options, sides);
        if (!test_mem_failed(&failing)) {
            cr_assert_eq(status, CLP_OK);
            clp_comparison_clear(&comparison);
            test_mem_check_empty(&failing);
            break;
        }
        cr_assert_eq(status, CLP_NO_MEMORY, "call %zu", fail_at);
        test_mem_check_empty(&failing);
    }
}

Test(compare, running_out_of_memory_leaves_nothing_behind)
{
    struct clp_profile_function *g =
        add(CLP_OLD, 0, "a/x.py", "g", 1, "def g():\n    a\n    b\n    b\n    c\n");
    hit(CLP_OLD, 0, g, 2, 1, 10);
    add(CLP_OLD, 0, "a/x.py", "g", 8, NULL);
    g = add(CLP_OLD, 1, "b/x.py", "g", 1, "def g():\n    a\n    b\n    c\n");
    hit(CLP_OLD, 1, g, 19, 1, 10);
    g = add(CLP_NEW, 0, "b/x.py", "g", 1, "def g():\n    d\n    b\n    a\n    c\n");
    hit(CLP_NEW, 0, g, 2, 1, 10);
    add(CLP_NEW, 0, "b/x.py", "g", 7, "def g():\n    z\n");
    fail_everywhere(2, 1);
    f.options.confidence = 0.9;
    fail_everywhere(3, 3);
}

/* ---- options ---- */

Test(compare, floors_are_read_from_a_text)
{
    struct clp_compare_options options = clp_compare_defaults();
    struct clp_buf fault;

    clp_buf_init(&fault, &f.test.mem);
    cr_assert(clp_compare_set_floor(&options, "2.5ms,10ns/hit,1MiB", &fault));
    cr_assert(options.time_floor == 2.5e6 && options.hit_floor == 10 &&
              options.bytes_floor == 1 << 20);
    cr_assert(clp_compare_set_floor(&options, "3us", &fault));
    cr_assert(options.time_floor == 3e3 && options.hit_floor == 10);
    cr_assert(clp_compare_set_floor(&options, "0", &fault));
    cr_assert(options.time_floor == 0 && options.hit_floor == 0 && options.bytes_floor == 0);
    static const char *const wrong[] = {"", "1", "ms", "1ms,", ",1ms", "1ms/", "1ms/hits", "1MiB/hit",
                                        "-1ms", "1e3ms", "inf", "1 ms", "0x1ms", "1..2ms"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_expect_not(clp_compare_set_floor(&options, wrong[i], &fault), "%s", wrong[i]);
        cr_expect_eq(options.time_floor, 0);
    }
    clp_buf_clear(&fault);
}

/* ---- limits ---- */

static struct clp_limits limits_of(const char *expression)
{
    struct clp_limits limits = {.count = 0};
    struct clp_buf fault;

    clp_buf_init(&fault, &f.test.mem);
    cr_assert(clp_limits_parse(&limits, expression, &fault), "%s", clp_buf_text(&fault));
    clp_buf_clear(&fault);
    return limits;
}

static bool breaks(const char *expression, double before, double after, bool changed)
{
    struct clp_limits limits = limits_of(expression);
    double percent = before != 0 ? 100 * (after - before) / fabs(before)
                   : after == before ? 0 : copysign(INFINITY, after - before);
    struct clp_change change = {.before = {before, before, before}, .after = {after, after, after},
                                .change = after - before, .percent = percent, .changed = changed};

    return clp_limit_breaks(&limits.items[0], &change);
}

Test(compare, a_gate_is_a_measure_a_direction_and_an_amount)
{
    struct clp_limits limits = limits_of("time>+20%,increment > +10MB , hits<-0,total>1.5s,mem>2GiB");

    cr_assert_eq(limits.count, 5);
    cr_assert_eq(limits.items[0].measure, CLP_MEASURE_time);
    cr_assert_eq(limits.items[0].kind, CLP_LIMIT_PERCENT);
    cr_assert_eq(limits.items[0].amount, 20);
    cr_assert_eq(limits.items[1].kind, CLP_LIMIT_CHANGE);
    cr_assert_eq(limits.items[1].amount, 1e7);
    cr_assert_eq(limits.items[1].bytes, strlen("increment > +10MB"));
    cr_assert(limits.items[2].below && limits.items[2].amount == 0);
    cr_assert_eq(limits.items[3].kind, CLP_LIMIT_VALUE);
    cr_assert_eq(limits.items[3].amount, 1.5e9);
    cr_assert_eq(limits.items[4].amount, 2.0 * (1 << 30));
    cr_assert_eq(limits_of("self>3us").items[0].amount, 3000);
    cr_assert_eq(limits_of("await>0").items[0].amount, 0);
}

Test(compare, a_gate_breaks_beyond_its_amount_and_not_at_it)
{
    cr_assert(breaks("time>+20%", 100, 121, true));
    cr_assert_not(breaks("time>+20%", 100, 120, true));
    cr_assert(breaks("time>+20%", 0, 1, true), "from zero every rise is more");
    cr_assert_not(breaks("time>+20%", 0, 0, false));
    cr_assert_not(breaks("time>+20%", 100, 200, false), "noise");
    cr_assert_not(breaks("time>+5ns", 100, 200, false), "noise again");
    cr_assert(breaks("time>150ns", 100, 200, false), "a limit asks the value, not the change");
    cr_assert_not(breaks("time>200ns", 100, 200, true));
    cr_assert(breaks("hits>+0", 1, 2, true));
    cr_assert(breaks("hits<-0", 2, 1, true));
    cr_assert_not(breaks("hits<-0", 1, 2, true));
    cr_assert(breaks("time>-10%", 100, 95, true), "it did not fall by a tenth");
    cr_assert(breaks("time>-10%", 100, 50, false), "and noise is no fall");
    cr_assert_not(breaks("time>-10%", 100, 80, true));
    cr_assert(breaks("increment>+10%", -100, -80, true), "relative to the size of what it was");
    cr_assert(breaks("hits<5", 9, 4, true));
}

Test(compare, a_bad_limit_says_what_and_where)
{
    static const char *const cases[][2] = {
        {"", "at character 1 of ''"},
        {"zeit>+20%", "needs one of hits,time,"},
        {"time>1ms,tim>+20%", "needs a measure at character 10 of 'time>1ms,tim>+20%' (did you mean time?)"},
        {"time+20%", "needs > or < at character 5"},
        {"time>=+20%", "needs a number at character 6"},
        {"time>+", "needs a number at character 7"},
        {"time>+20", "needs ns, us, ms or s, or % at character 9"},
        {"time>20%", "needs ns, us, ms or s at character 8"},
        {"time>+20MB", "needs ns, us, ms or s, or % at character 9"},
        {"mem>+20M", "needs B, kB, MB, GB, KiB, MiB or GiB, or % at character 8"},
        {"hits>+1k", "needs no unit, or % at character 8"},
        {"time>+20%,", "at character 11"},
        {"time>+20% mem>1B", "needs a comma at character 11"},
        {"time>+inf%", "needs a number at character 7"},
        {"time>+99999999999999999999s", "needs a number"},
        {"time>+1.s", "needs a number at character 9"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clp_limits limits = {.count = 7};
        struct clp_buf fault;
        clp_buf_init(&fault, &f.test.mem);
        cr_expect_not(clp_limits_parse(&limits, cases[i][0], &fault), "%s", cases[i][0]);
        cr_expect_not_null(strstr(clp_buf_text(&fault), cases[i][1]), "%s: %s", cases[i][0],
                           clp_buf_text(&fault));
        cr_expect_eq(limits.count, 7);
        clp_buf_clear(&fault);
    }
}

struct told {
    char text[1024];
};

static void tell(void *listener, const struct clp_breach *breach)
{
    struct told *told = listener;
    struct clp_buf line;

    clp_buf_init(&line, &f.test.mem);
    clp_diff_text_add_breach(breach, "/w", &line);
    strncat(told->text, clp_buf_text(&line), sizeof told->text - strlen(told->text) - 1);
    clp_buf_clear(&line);
}

Test(compare, everything_that_breaks_a_gate_is_told)
{
    struct clp_profile_function *g =
        add(CLP_OLD, 0, "/w/a.py", "g", 1, "def g():\n    one()\n    two()\n");
    hit(CLP_OLD, 0, g, 2, 1, 10);
    hit(CLP_OLD, 0, g, 3, 1, 10);
    g = add(CLP_NEW, 0, "/w/a.py", "g", 1, "def g():\n    one()\n    two()\n    new_line()\n");
    hit(CLP_NEW, 0, g, 2, 1, 13);
    hit(CLP_NEW, 0, g, 3, 1, 10);
    hit(CLP_NEW, 0, g, 4, 1, 2);
    compare();
    struct clp_limits limits = limits_of("time>+20%,total>+20%,hits<1");
    struct told told = {""};
    cr_assert_eq(clp_limits_check(&limits, &f.comparison, tell, &told), 3);
    cr_assert_str_eq(told.text,
                     "a.py:1: g: total 20.0 ms -> 25.0 ms, +5.00 ms (+25.0 %) breaks total>+20%\n"
                     "a.py:2: g: time 10.0 ms -> 13.0 ms, +3.00 ms (+30.0 %) breaks time>+20%: one()\n"
                     "a.py:4: g: time 0 s -> 2.00 ms, +2.00 ms breaks time>+20%: new_line()\n");
    limits = limits_of("hits>+0,mem>1B");
    cr_assert_eq(clp_limits_check(&limits, &f.comparison, tell, &told), 1);
    f.profiles[CLP_OLD][0].meta.has_memory = false;
    compare();
    cr_assert_null(clp_limits_find_unknown(&limits, &f.comparison), "a limit is of the new side");
    limits = limits_of("time>1s,mem>+1B");
    cr_assert_eq(clp_limits_find_unknown(&limits, &f.comparison), &limits.items[1]);
}
