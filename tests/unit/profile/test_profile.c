/* SPDX-License-Identifier: MIT */
#include "engine/functions.h"
#include "helpers.h"
#include "profile/profile.h"
#include "profile/profile_merge.h"
#include "profile/texts.h"
#include <stdio.h>

static struct test_mem test;
static struct clp_profile profile;

static void set_up(void)
{
    clp_profile_init(&profile, test_mem_init(&test, 0));
}

static void tear_down(void)
{
    test_check_profile(&profile);
    clp_profile_clear(&profile);
    test_mem_check_empty(&test);
}

TestSuite(profile, .init = set_up, .fini = tear_down);

static struct clp_profile_function *add(struct clp_profile *to, const char *file, const char *name,
                                        int32_t line)
{
    struct clp_profile_function *function = NULL;

    cr_assert_eq(clp_profile_add_function(to, file, name, line, &function), CLP_OK);
    return function;
}

static void add_line(struct clp_profile *to, struct clp_profile_function *function, int32_t line,
                     uint64_t hits)
{
    struct clp_measures measures = {.hits = hits, .time = hits * 100, .max = hits};

    cr_assert_eq(clp_profile_add_line(to, function, line, &measures), CLP_OK);
}

Test(profile, clearing_leaves_an_empty_profile)
{
    add_line(&profile, add(&profile, "a.py", "f", 1), 2, 3);
    clp_profile_clear(&profile);
    test_mem_check_empty(&test);
    cr_assert_eq(profile.function_count, 0);
    add(&profile, "a.py", "f", 1);
    cr_assert_eq(profile.function_count, 1);
}

Test(profile, a_function_is_file_name_and_line)
{
    static const struct {
        const char *file, *name;
        int32_t line;
    } keys[] = {{"a.py", "f", 1}, {"b.py", "f", 1}, {"a.py", "g", 1}, {"a.py", "f", 2},
                {"a.pyf", "", 1}, {"", "a.pyf", 1}, {"", "", 0}};
    size_t count = sizeof keys / sizeof keys[0];

    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < count; i++) {
            struct clp_profile_function *f =
                add(&profile, keys[i].file, keys[i].name, keys[i].line);
            cr_assert_eq(f, &profile.functions[i], "key %zu, round %d", i, round);
            cr_assert_str_eq(f->file, keys[i].file);
            cr_assert_str_eq(f->name, keys[i].name);
            cr_assert_eq(f->first_line, keys[i].line);
        }
    }
    cr_assert_eq(profile.function_count, count);
}

Test(profile, many_functions_keep_their_order)
{
    char name[32];

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3000; i++) {
            snprintf(name, sizeof name, "f%d", i / 3);
            struct clp_profile_function *f = add(&profile, "a.py", name, i % 3);
            cr_assert_eq(f - profile.functions, i);
        }
    }
}

/* No two texts with equal hashes are at hand, so the index is made to say that this key's place is
 * taken by other functions: by one of another name, then by one of another file. */
Test(profile, equal_hashes_are_told_apart)
{
    add(&profile, "a.py", "f", 1);
    add(&profile, "b.py", "wanted", 1);
    struct clp_profile_function *wanted = add(&profile, "a.py", "wanted", 1);
    uint64_t key = 0, value;
    for (size_t i = 0; i < profile.index.room; i++) {
        if (profile.index.slots[i].used && profile.index.slots[i].value == 2)
            key = profile.index.slots[i].key;
    }
    cr_assert(clp_hashmap_take(&profile.index, key, &value));
    cr_assert_eq(clp_hashmap_set(&profile.index, key, 0), CLP_OK);
    cr_assert_eq(clp_hashmap_set(&profile.index, key + 1, 1), CLP_OK);
    cr_assert_eq(clp_hashmap_set(&profile.index, key + 2, 2), CLP_OK);
    cr_assert_eq(add(&profile, "a.py", "wanted", 1), wanted);
    cr_assert_eq(profile.function_count, 3);
}

Test(profile, lines_are_ascending_in_whatever_order_they_come)
{
    static const int32_t order[] = {50, 10, 90, 70, 10, 1, 100, 60, 50, 0};
    static const int32_t lines[] = {0, 1, 10, 50, 60, 70, 90, 100};
    static const uint64_t hits[] = {1, 1, 2, 2, 1, 1, 1, 1};
    struct clp_profile_function *f = add(&profile, "a.py", "f", 1);

    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        add_line(&profile, f, order[i], 1);
    cr_assert_eq(f->line_count, sizeof lines / sizeof lines[0]);
    for (size_t i = 0; i < f->line_count; i++) {
        cr_assert_eq(f->lines[i].line, lines[i]);
        cr_assert_eq(f->lines[i].measures.hits, hits[i], "line %d", lines[i]);
    }
}

Test(profile, every_measure_is_merged_by_its_own_rule)
{
    struct clp_measures a = {1, 10, 11, 12, 13, 14, 50, 5, 15, 16, 17, 18, 19, 66, 67, 64, 65,
                             40, 41, 42, 43, 44, 45, 46, 47, -6, 60, -7, 61, -8, 62, -9, 63,
                             70, 71, -5, 30, -8,
                             71, 72, -6, 31, -7,
                             72, 73, -7, 32, -6,
                             73, 74, -8, 33, -5,
                             80, 81, 82,
                             4096, 20, 21, -5, -300,
                             30, 31, 32, 33, 34, 35, 36, 37};
    struct clp_measures b = {2, 100, 101, 102, 103, 104, 40, 6, 105, 106, 107, 108, 109, 110, 111, 9, 10,
                             1, 2, 3, 4, 5, 6, 7, 8, 10, 50, 20, 70, -30, 62, -40, 99,
                             700, 710, 6, 29, 4,
                             701, 711, 7, 29, 4,
                             702, 712, 8, 29, 4,
                             703, 713, 9, 29, 4,
                             800, 801, 802,
                             8192, 200, 201, -50, 200,
                             300, 301, 302, 303, 304, 305, 306, 307};
    struct clp_measures sum = {3, 110, 112, 114, 116, 118, 50, 11, 120, 122, 124, 126, 128, 176, 178, 73, 75,
                               41, 43, 45, 47, 49, 51, 53, 55, 4, 60, 13, 70, -38, 62, -49, 99,
                               770, 781, 1, 30, -4,
                               772, 783, 1, 31, -3,
                               774, 785, 1, 32, -2,
                               776, 787, 1, 33, -1,
                               880, 882, 884,
                               8192, 220, 222, -55, -300,
                               330, 332, 334, 336, 338, 340, 342, 344};

    struct clp_measures either = a;
    clp_measures_merge(&either, &b);
    cr_assert(test_same_measures(&either, &sum));
    either = b;
    clp_measures_merge(&either, &a);
    cr_assert(test_same_measures(&either, &sum), "the order matters");
}

Test(profile, sums_stop_at_the_ends)
{
    struct clp_measures a = {.hits = UINT64_MAX - 1, .self_increment = INT64_MAX - 1};
    struct clp_measures b = {.hits = 3, .self_increment = 3, .largest = INT64_MIN};

    clp_measures_merge(&a, &b);
    cr_assert_eq(a.hits, UINT64_MAX);
    cr_assert_eq(a.self_increment, INT64_MAX);
    cr_assert_eq(a.largest, INT64_MIN);
    a = (struct clp_measures){.self_increment = INT64_MIN + 1, .largest = INT64_MAX};
    b = (struct clp_measures){.self_increment = -3, .largest = INT64_MIN};
    clp_measures_merge(&a, &b);
    cr_assert_eq(a.self_increment, INT64_MIN);
    cr_assert_eq(a.largest, INT64_MIN);
}

Test(profile, increment_is_grown_less_released)
{
    struct clp_measures measures = {.grown = 10, .released = 3};
    cr_assert_eq(clp_measures_increment(&measures), 7);
    measures = (struct clp_measures){.grown = 3, .released = 10};
    cr_assert_eq(clp_measures_increment(&measures), -7);
    measures = (struct clp_measures){.grown = UINT64_MAX};
    cr_assert_eq(clp_measures_increment(&measures), INT64_MAX);
    measures = (struct clp_measures){.released = UINT64_MAX};
    cr_assert_eq(clp_measures_increment(&measures), -INT64_MAX);
}

Test(profile, of_two_leaks_on_a_line_the_larger_stays)
{
    static const int32_t lines[] = {9, 2, 5, 9, 2, 7};
    static const uint64_t bytes[] = {10, 20, 30, 11, 19, 40};
    struct clp_profile_function *f;

    cr_assert_eq(clp_profile_add_function(&profile, "a.py", "f", 1, &f), CLP_OK);
    for (size_t i = 0; i < 6; i++) {
        char text[] = {'a' + (char)i, 0};
        struct clp_profile_leak leak = {.line = lines[i], .bytes = bytes[i], .held_by = i != 2 ? text : NULL};
        cr_assert_eq(clp_profile_add_leak(&profile, f, &leak), CLP_OK);
    }
    cr_assert_eq(f->leak_count, 4);
    cr_assert(f->leaks[0].line == 2 && f->leaks[0].bytes == 20);
    cr_assert(f->leaks[1].line == 5 && f->leaks[2].line == 7);
    cr_assert(f->leaks[3].line == 9 && f->leaks[3].bytes == 11);
    cr_assert_str_eq(f->leaks[0].held_by, "b");
    cr_assert_str_eq(f->leaks[3].held_by, "d");
    cr_assert_null(f->leaks[1].held_by);
}

Test(profile, merging_keeps_every_series_and_the_larger_leak)
{
    struct clp_profile from;
    struct clp_profile_function *f;
    struct clp_profile_series *series;
    struct clp_profile_leak leak = {.line = 4, .bytes = 100};
    struct clp_profile_mark mark = {.file = (char[]){"a.py"}, .name = (char[]){"f"}, .level = 2,
                                    .first_line = 1, .enter = 3, .leave = 9};

    clp_profile_init(&from, &test.mem);
    cr_assert_eq(clp_profile_add_function(&from, "a.py", "f", 1, &f), CLP_OK);
    cr_assert_eq(clp_profile_add_leak(&from, f, &leak), CLP_OK);
    cr_assert_eq(clp_profile_add_series(&from, 5, 1.5, &series), CLP_OK);
    for (uint64_t i = 0; i < 100; i++)
        cr_assert_eq(clp_profile_add_sample(&from, series, i, 1000 + i), CLP_OK);
    for (int i = 0; i < 40; i++)
        cr_assert_eq(clp_profile_add_mark(&from, series, &mark), CLP_OK);
    cr_assert_eq(clp_profile_merge(&profile, &from), CLP_OK);
    cr_assert(test_same_profile(&profile, &from));
    from.functions[0].leaks[0].bytes = 99;
    cr_assert_eq(clp_profile_merge(&profile, &from), CLP_OK);
    cr_assert_eq(profile.series_count, 2);
    cr_assert_eq(profile.series[1].rss[99], 1099);
    cr_assert_eq(profile.functions[0].leaks[0].bytes, 100);
    clp_profile_clear(&from);
}

Test(profile, merging_keeps_what_compiled_a_function)
{
    struct clp_profile from;
    struct clp_profile_function *f = add(&profile, "a.py", "f", 1);

    clp_profile_init(&from, &test.mem);
    cr_assert_eq(clp_profile_add_function(&from, "a.py", "f", 1, &f), CLP_OK);
    cr_assert_eq(clp_profile_set_text(&from, &f->compiler, "numba"), CLP_OK);
    f->compiled = (struct clp_compiled){.calls = UINT64_MAX - 1, .times = 1, .nanos = 7};
    cr_assert_eq(clp_profile_merge(&profile, &from), CLP_OK);
    cr_assert_str_eq(profile.functions[0].compiler, "numba");
    cr_assert_eq(clp_profile_set_text(&from, &f->compiler, NULL), CLP_OK);
    cr_assert_eq(clp_profile_merge(&profile, &from), CLP_OK);
    cr_assert_str_eq(profile.functions[0].compiler, "numba");
    cr_assert_eq(profile.functions[0].compiled.calls, UINT64_MAX);
    cr_assert_eq(profile.functions[0].compiled.times, 2);
    cr_assert_eq(profile.functions[0].compiled.nanos, 14);
    clp_profile_clear(&from);
}

Test(profile, source_is_bytes_and_is_replaced)
{
    struct clp_profile_function *f = add(&profile, "a.py", "f", 1);

    cr_assert_eq(clp_profile_set_source(&profile, f, "a\0b\n", 4), CLP_OK);
    cr_assert_eq(f->source_bytes, 4);
    cr_assert_eq(memcmp(f->source, "a\0b\n", 5), 0);
    cr_assert_eq(clp_profile_set_source(&profile, f, f->source + 2, 2), CLP_OK);
    cr_assert_str_eq(f->source, "b\n");
    cr_assert_eq(clp_profile_set_source(&profile, f, "", 0), CLP_OK);
    cr_assert_null(f->source);
    cr_assert_eq(f->source_bytes, 0);
}

Test(profile, meta_texts_are_copied_and_replaced)
{
    char text[] = "3.12.1";

    cr_assert_eq(clp_profile_set_text(&profile, &profile.meta.python, text), CLP_OK);
    text[0] = '2';
    cr_assert_str_eq(profile.meta.python, "3.12.1");
    cr_assert_eq(clp_profile_set_text(&profile, &profile.meta.python, profile.meta.python + 2),
                 CLP_OK);
    cr_assert_str_eq(profile.meta.python, "12.1");
    cr_assert_eq(clp_profile_set_text(&profile, &profile.meta.python, NULL), CLP_OK);
    cr_assert_null(profile.meta.python);
}

static void fill_other(struct clp_profile *other)
{
    struct clp_profile_function *f = add(other, "a.py", "f", 1);
    f->total = 1000;
    f->raw_total = 2000;
    for (int32_t line = 1; line < 40; line += 2)
        add_line(other, f, line, 1);
    f = add(other, "b.py", "g", 5);
    f->total = 7;
    add_line(other, f, 6, 9);
    cr_assert_eq(clp_profile_set_source(other, f, "def g():\n", 9), CLP_OK);
    cr_assert_eq(clp_profile_set_text(other, &other->meta.python, "3.13.0"), CLP_OK);
    cr_assert_eq(clp_profile_set_text(other, &other->meta.tracer, "probe"), CLP_OK);
    other->meta.pid = 2;
    other->meta.start = 2.5;
    other->meta.wall = 20;
    other->meta.overhead = 200;
    other->meta.overhead_error = 40;
    other->meta.events = 2000;
    other->meta.reads = 20000;
    other->meta.has_memory = true;
    other->meta.memory_step = 64;
    other->meta.others_grown = 5;
    other->meta.others_released = 6;
    other->meta.gc_outside = 7;
    other->meta.gc_outside_runs = 8;
    other->meta.gc_cleared = 1;
    other->meta.outside_device_time = 9;
    other->meta.outside_launches = 10;
    other->meta.lost_launches = 11;
    other->meta.tensors_read = CLP_TENSORS_READ_IN_PART;
    cr_assert_eq(clp_profile_set_text(other, &other->meta.memory, "anon"), CLP_OK);
}

Test(profile, merging_joins_functions_lines_and_meta)
{
    struct clp_profile other;
    clp_profile_init(&other, &test.mem);
    fill_other(&other);

    struct clp_profile_function *f = add(&profile, "c.py", "h", 1);
    f = add(&profile, "a.py", "f", 1);
    f->total = 1;
    f->raw_total = 2;
    for (int32_t line = 0; line < 60; line += 3)
        add_line(&profile, f, line, 10);
    cr_assert_eq(clp_profile_set_source(&profile, f, "kept\n", 5), CLP_OK);
    cr_assert_eq(clp_profile_set_text(&profile, &profile.meta.python, "3.12.1"), CLP_OK);
    profile.meta = (struct clp_profile_meta){.python = profile.meta.python, .pid = 1, .wall = 1,
                                             .overhead = 2, .overhead_error = 1, .events = 3, .reads = 4,
                                             .inexact_memory = true, .memory_step = 16,
                                             .others_grown = 1, .others_released = 1,
                                             .gc_outside = 1, .gc_outside_runs = 2,
                                             .outside_device_time = 1, .outside_launches = 2, .lost_launches = 3,
                                             .tensors_read = CLP_TENSORS_READ};

    cr_assert_eq(clp_profile_merge(&profile, &other), CLP_OK);
    test_check_profile(&profile);
    cr_assert_eq(profile.function_count, 3);
    f = add(&profile, "a.py", "f", 1);
    cr_assert_eq(f, &profile.functions[1]);
    cr_assert_eq(f->total, 1001);
    cr_assert_eq(f->raw_total, 2002);
    cr_assert_str_eq(f->source, "kept\n");
    size_t seen = 0;
    for (int32_t line = 0; line < 60; line++) {
        uint64_t hits = (line % 3 == 0 ? 10u : 0u) + (line % 2 == 1 && line < 40 ? 1u : 0u);
        if (hits == 0)
            continue;
        cr_assert_lt(seen, f->line_count);
        cr_assert_eq(f->lines[seen].line, line);
        cr_assert_eq(f->lines[seen].measures.hits, hits, "line %d", line);
        cr_assert_eq(f->lines[seen].measures.time, hits * 100);
        seen++;
    }
    cr_assert_eq(seen, f->line_count);
    cr_assert(test_same_function(&profile.functions[2], &other.functions[1]));
    struct clp_profile_meta meta = {.python = "3.12.1", .tracer = "probe", .pid = 1, .start = 2.5,
                                    .wall = 21, .overhead = 202, .overhead_error = 41, .events = 2003, .reads = 20004,
                                    .has_memory = true, .inexact_memory = true,
                                    .memory_step = 64, .memory = "anon",
                                    .others_grown = 6, .others_released = 7,
                                    .gc_outside = 8, .gc_outside_runs = 10, .gc_cleared = 1,
                                    .outside_device_time = 10, .outside_launches = 12, .lost_launches = 14,
                                    .tensors_read = CLP_TENSORS_READ_IN_PART};
    cr_assert(test_same_meta(&profile.meta, &meta));
    clp_profile_clear(&other);
}

/* NULL is a file of before there were several kinds. */
Test(profile, merging_tells_of_mixed_memory)
{
    static const struct { const char *into, *from, *sum; bool into_has, from_has; } cases[] = {
        {"anon", "anon", "anon", true, true}, {"anon", "uss", "mixed", true, true},
        {NULL, "rss", NULL, true, true},      {NULL, "pss", "mixed", true, true},
        {NULL, "pss", "pss", false, true},    {"anon", NULL, "anon", true, false},
        {"rss", NULL, "rss", true, true},     {"mixed", "rss", "mixed", true, true},
        {NULL, NULL, NULL, false, true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clp_profile into, from;
        clp_profile_init(&into, &test.mem);
        clp_profile_init(&from, &test.mem);
        into.meta.has_memory = cases[i].into_has;
        from.meta.has_memory = cases[i].from_has;
        cr_assert_eq(clp_profile_set_text(&into, &into.meta.memory, cases[i].into), CLP_OK);
        cr_assert_eq(clp_profile_set_text(&from, &from.meta.memory, cases[i].from), CLP_OK);
        cr_assert_eq(clp_profile_merge(&into, &from), CLP_OK);
        cr_expect(test_same_text(into.meta.memory, cases[i].sum), "case %zu: %s", i,
                  into.meta.memory);
        clp_profile_clear(&into);
        clp_profile_clear(&from);
    }
}

Test(profile, merging_tells_of_mixed_epochs)
{
    static const struct { const char *into, *from, *sum; } cases[] = {
        {NULL, "calls", "calls"}, {"calls", NULL, "calls"}, {"0.5", "0.5", "0.5"}, {"0.5", "handle", "mixed"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clp_profile into, from;
        clp_profile_init(&into, &test.mem);
        clp_profile_init(&from, &test.mem);
        cr_assert_eq(clp_profile_set_text(&into, &into.meta.leak_epoch, cases[i].into), CLP_OK);
        cr_assert_eq(clp_profile_set_text(&from, &from.meta.leak_epoch, cases[i].from), CLP_OK);
        into.meta.leak_epochs = 5;
        from.meta.leak_epochs = i;
        cr_assert_eq(clp_profile_merge(&into, &from), CLP_OK);
        cr_expect(test_same_text(into.meta.leak_epoch, cases[i].sum), "case %zu", i);
        cr_expect_eq(into.meta.leak_epochs, 5);
        clp_profile_clear(&into);
        clp_profile_clear(&from);
    }
}

Test(profile, merging_into_nothing_copies)
{
    struct clp_profile other;

    clp_profile_init(&other, &test.mem);
    fill_other(&other);
    cr_assert_eq(clp_profile_merge(&profile, &other), CLP_OK);
    cr_assert(test_same_profile(&profile, &other));
    clp_profile_clear(&other);
}

Test(profile, merging_with_itself_doubles)
{
    fill_other(&profile);
    cr_assert_eq(clp_profile_merge(&profile, &profile), CLP_OK);
    cr_assert_eq(profile.function_count, 2);
    cr_assert_eq(profile.functions[0].line_count, 20);
    cr_assert_eq(profile.functions[0].lines[3].measures.hits, 2);
    cr_assert_eq(profile.functions[0].total, 2000);
}

/* Two functions of 200,000 lines that alternate: quadratic work would not end in a minute. */
Test(profile, merging_large_functions_takes_one_pass)
{
    struct clp_profile other;
    struct clp_profile_function *f = add(&profile, "a.py", "f", 1);

    clp_profile_init(&other, &test.mem);
    struct clp_profile_function *g = add(&other, "a.py", "f", 1);
    for (int32_t line = 0; line < 400000; line += 2) {
        add_line(&profile, f, line, 1);
        add_line(&other, g, line + 1, 2);
    }
    cr_assert_eq(clp_profile_merge(&profile, &other), CLP_OK);
    cr_assert_eq(f->line_count, 400000);
    clp_profile_clear(&other);
}

static clp_status build(struct clp_profile *to, const struct clp_profile *other)
{
    struct clp_profile_function *f;
    struct clp_measures one = {.hits = 1};
    char name[16];

    for (int32_t i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "f%d", i);
        size_t before = to->function_count;
        if (clp_profile_add_function(to, "a.py", name, i, &f) != CLP_OK) {
            cr_assert_eq(to->function_count, before);
            return CLP_NO_MEMORY;
        }
        for (int32_t line = 10; line > 0; line--) {
            before = f->line_count;
            if (clp_profile_add_line(to, f, line, &one) != CLP_OK) {
                cr_assert_eq(f->line_count, before);
                return CLP_NO_MEMORY;
            }
        }
        if (clp_profile_set_source(to, f, name, strlen(name)) != CLP_OK) {
            cr_assert_null(f->source);
            return CLP_NO_MEMORY;
        }
    }
    if (clp_profile_set_text(to, &to->meta.command, "python demo.py") != CLP_OK ||
        clp_profile_set_text(to, &to->meta.command, "again") != CLP_OK)
        return CLP_NO_MEMORY;
    return clp_profile_merge(to, other);
}

Test(profile, out_of_memory_anywhere_leaves_a_whole_profile)
{
    struct clp_profile other;
    size_t fail_at = 0;
    bool failed;

    clp_profile_init(&other, &test.mem);
    fill_other(&other);
    do {
        struct test_mem failing;
        struct clp_profile to;
        clp_profile_init(&to, test_mem_init(&failing, ++fail_at));
        clp_status status = build(&to, &other);
        failed = test_mem_failed(&failing);
        cr_assert_eq(status, failed ? CLP_NO_MEMORY : CLP_OK);
        failing.fail_at = 0;
        test_check_profile(&to);
        clp_profile_clear(&to);
        test_mem_check_empty(&failing);
    } while (failed);
    cr_assert_gt(fail_at, 100);
    clp_profile_clear(&other);
}

/* ---- texts that differ ---- */

/* A profile of one function f with this text and so many hits on line 2. */
static void merge_text(struct clp_profile *into, const char *name, const char *text, uint64_t hits)
{
    struct clp_profile one;

    clp_profile_init(&one, into->mem);
    struct clp_profile_function *f = add(&one, "a.py", name, 1);
    if (text != NULL)
        cr_assert_eq(clp_profile_set_source(&one, f, text, strlen(text)), CLP_OK);
    add_line(&one, f, 2, hits);
    cr_assert_eq(clp_profile_merge(into, &one), CLP_OK);
    clp_profile_clear(&one);
}

/* "NAME hits" of every function, with commas between. */
static const char *names_and_hits(const struct clp_profile *from)
{
    static char text[512];
    size_t at = 0;

    for (size_t i = 0; i < from->function_count; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s %llu", i == 0 ? "" : ", ",
                               from->functions[i].name,
                               (unsigned long long)from->functions[i].lines[0].measures.hits);
    return text;
}

Test(profile, merging_keeps_functions_apart_whose_texts_differ)
{
    merge_text(&profile, "f", "one\n", 1);
    cr_assert_eq(profile.variant_count, 0);
    merge_text(&profile, "f", "two\n", 2);
    merge_text(&profile, "f", "three\n", 4);
    merge_text(&profile, "f", "two\n", 8);
    merge_text(&profile, "f", "one\n", 16);
    merge_text(&profile, "f", NULL, 32); /* not known: with the first */
    cr_assert_str_eq(names_and_hits(&profile), "f 49, f (2) 10, f (3) 4");
    cr_assert_eq(profile.variant_count, 2);
    cr_assert_eq(profile.variant_place, 1);
    cr_assert_eq(profile.functions[1].first_line, 1);
    cr_assert_str_eq(profile.functions[2].source, "three\n");
}

Test(profile, what_was_merged_before_finds_its_text_again)
{
    struct clp_profile other;

    clp_profile_init(&other, &test.mem);
    merge_text(&profile, "f", "one\n", 1);
    merge_text(&profile, "f", "two\n", 2);
    merge_text(&other, "f", "two\n", 4);
    merge_text(&other, "f", "one\n", 8);
    merge_text(&other, "f", "three\n", 16);
    cr_assert_eq(clp_profile_merge(&profile, &other), CLP_OK);
    cr_assert_str_eq(names_and_hits(&profile), "f 9, f (2) 6, f (3) 16");
    merge_text(&profile, "f (4)", "two\n", 32); /* the number it had elsewhere */
    cr_assert_str_eq(names_and_hits(&profile), "f 9, f (2) 38, f (3) 16");
    clp_profile_clear(&other);
}

Test(profile, a_name_that_is_taken_is_not_given_again)
{
    merge_text(&profile, "f (2)", NULL, 1);
    merge_text(&profile, "f", "one\n", 2);
    merge_text(&profile, "f", "two\n", 4);
    merge_text(&profile, "f ()", "one\n", 8);
    merge_text(&profile, "f ()", "two\n", 16);
    merge_text(&profile, " (7)", "one\n", 32);
    merge_text(&profile, " (7)", "two\n", 64);
    cr_assert_str_eq(names_and_hits(&profile),
                     "f (2) 1, f 2, f (3) 4, f () 8, f () (2) 16,  (7) 32,  (2) 64");
}

static struct clp_profile_function *add_version(const char *name, uint32_t text)
{
    struct clp_profile_function *function = NULL;

    cr_assert_eq(clp_profile_add_version(&profile, "a.py", name, 1, text, &function), CLP_OK);
    return function;
}

Test(profile, versions_have_numbers_in_the_order_they_come)
{
    cr_expect_str_eq(add_version("f", 7)->name, "f");
    cr_expect_str_eq(add_version("f", CLP_TEXT_NONE)->name, "f (2)");
    cr_expect_str_eq(add_version("g [main]", 3)->name, "g [main]");
    cr_expect_str_eq(add_version("g [main]", 4)->name, "g [main] (2)");
    cr_expect(add_version("f", CLP_TEXT_CHANGED)->source_changed);
    cr_expect_str_eq(add_version("f", CLP_TEXT_CHANGED)->name, "f (3)");
    cr_expect_str_eq(add_version("f", 7)->name, "f");
    cr_expect_not(add_version("f", 7)->source_changed);
    cr_expect_eq(clp_profile_plain_name(add_version("f", CLP_TEXT_CHANGED)), 1);
    cr_assert_eq(profile.function_count, 5);
}

/* A profile of one function f whose text is gone, and so many hits on line 2. */
static void merge_changed(uint64_t hits)
{
    struct clp_profile one;

    clp_profile_init(&one, profile.mem);
    struct clp_profile_function *f = add(&one, "a.py", "f", 1);
    f->source_changed = true;
    add_line(&one, f, 2, hits);
    cr_assert_eq(clp_profile_merge(&profile, &one), CLP_OK);
    clp_profile_clear(&one);
}

Test(profile, merging_keeps_code_whose_text_is_gone_apart)
{
    merge_text(&profile, "f", "one\n", 1);
    merge_changed(2);
    merge_text(&profile, "f", "two\n", 4);
    merge_changed(8);
    merge_text(&profile, "f", "one\n", 16);
    cr_assert_str_eq(names_and_hits(&profile), "f 17, f (2) 10, f (3) 4");
    cr_assert(profile.functions[1].source_changed && !profile.functions[2].source_changed);
}

Test(profile, merging_code_whose_text_is_gone_copies_that)
{
    merge_changed(1);
    merge_changed(2);
    cr_assert_str_eq(names_and_hits(&profile), "f 3");
    cr_assert(profile.functions[0].source_changed);
}

Test(profile, many_texts_of_one_function_take_linear_time)
{
    char text[32];

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 20000; i++) {
            snprintf(text, sizeof text, "text %d\n", i);
            merge_text(&profile, "f", text, 1);
        }
    }
    cr_assert_eq(profile.function_count, 20000);
    cr_assert_str_eq(profile.functions[19999].name, "f (20000)");
}

Test(profile, running_out_of_memory_keeps_the_sum_whole)
{
    for (size_t fail_at = 1;; fail_at++) {
        struct clp_profile sum, other;
        struct test_mem failing;
        clp_profile_init(&other, &test.mem);
        clp_profile_init(&sum, test_mem_init(&failing, 0));
        merge_text(&other, "f", "two\n", 2);
        merge_text(&other, "f", "three\n", 2);
        merge_text(&sum, "f", "one\n", 1);
        failing.calls = 0;
        failing.fail_at = fail_at;
        clp_status status = clp_profile_merge(&sum, &other);
        bool failed = test_mem_failed(&failing);
        failing.fail_at = 0;
        test_check_profile(&sum);
        clp_profile_clear(&sum);
        clp_profile_clear(&other);
        test_mem_check_empty(&failing);
        if (!failed)
            break;
        cr_assert_eq(status, CLP_NO_MEMORY);
    }
}

/* ---- the processes of a sum ---- */

/* Makes a profile of one process, with self times of the lines 2 and 3 of a function; 0: the line did not run. */
static void fill_process(struct clp_profile *to, uint64_t pid, uint64_t second, uint64_t third)
{
    struct clp_profile_function *f = add(to, "a.py", "f", 1);
    const struct clp_profile_process row = {.pid = pid, .self = second + third, .rank = (char[]){"3"}};

    for (int32_t line = 2; line <= 3; line++) {
        struct clp_measures measures = {.hits = 1, .self = line == 2 ? second : third};
        if (measures.self != 0)
            cr_assert_eq(clp_profile_add_line(to, f, line, &measures), CLP_OK);
    }
    cr_assert_eq(clp_profile_add_process(to, &row), CLP_OK);
}

static void merge_process(struct clp_profile *into, uint64_t pid, uint64_t second, uint64_t third)
{
    struct clp_profile one;

    clp_profile_init(&one, &test.mem);
    fill_process(&one, pid, second, third);
    cr_assert_eq(clp_profile_merge(into, &one), CLP_OK);
    clp_profile_clear(&one);
}

static void check_spread(const struct clp_profile *sum, size_t line, struct clp_profile_spread wanted)
{
    const struct clp_profile_spread *found = &sum->functions[0].lines[line].spread;

    cr_assert_eq(found->least, wanted.least);
    cr_assert_eq(found->most, wanted.most);
    cr_assert_eq(found->least_in, wanted.least_in);
    cr_assert_eq(found->most_in, wanted.most_in);
    cr_assert_eq(found->count, wanted.count);
}

Test(profile, one_process_has_no_spread)
{
    merge_process(&profile, 7, 10, 20);
    check_spread(&profile, 0, (struct clp_profile_spread){0});
}

Test(profile, a_sum_knows_least_and_most_and_who)
{
    merge_process(&profile, 7, 10, 0);
    merge_process(&profile, 8, 30, 5);
    merge_process(&profile, 9, 4, 6);
    cr_assert_eq(profile.process_count, 3);
    check_spread(&profile, 0, (struct clp_profile_spread){4, 30, 2, 1, 3});
    check_spread(&profile, 1, (struct clp_profile_spread){5, 6, 1, 2, 2});
}

/* In whatever order sums are made, the processes that are named are the same. */
Test(profile, a_sum_of_sums_knows_it_too)
{
    struct clp_profile late;

    clp_profile_init(&late, &test.mem);
    merge_process(&late, 8, 30, 5);
    merge_process(&late, 9, 4, 6);
    merge_process(&profile, 7, 10, 0);
    cr_assert_eq(clp_profile_merge(&profile, &late), CLP_OK);
    clp_profile_clear(&late);
    check_spread(&profile, 0, (struct clp_profile_spread){4, 30, 2, 1, 3});
    check_spread(&profile, 1, (struct clp_profile_spread){5, 6, 1, 2, 2});
    cr_assert_eq(profile.processes[2].pid, 9);
    cr_assert_str_eq(profile.processes[2].rank, "3");
}

Test(profile, a_profile_of_no_known_process_changes_no_spread)
{
    struct clp_profile other;

    merge_process(&profile, 7, 10, 20);
    merge_process(&profile, 8, 30, 20);
    clp_profile_init(&other, &test.mem);
    add_line(&other, add(&other, "a.py", "f", 1), 2, 3);
    cr_assert_eq(clp_profile_merge(&profile, &other), CLP_OK);
    clp_profile_clear(&other);
    check_spread(&profile, 0, (struct clp_profile_spread){10, 30, 0, 1, 2});
}
