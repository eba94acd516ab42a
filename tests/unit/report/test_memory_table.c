/* SPDX-License-Identifier: MIT */
/* The expected tables are what memory_profiler 0.61's show_results printed of the same numbers. */
#include "helpers.h"
#include "profile/texts.h"
#include "report/memory_table.h"

#define MIB (INT64_C(1) << 20)

struct fixture {
    struct test_mem test;
    struct clp_profile profile;
    struct clp_profile_function *function;
    struct clp_memory_table_options options;
    struct clp_buf out;
};

static void start(struct fixture *f, const char *source)
{
    *f = (struct fixture){.options = {.precision = CLP_MEMORY_TABLE_PRECISION, .folder = "/home"}};
    clp_profile_init(&f->profile, test_mem_init(&f->test, 0));
    clp_buf_init(&f->out, f->profile.mem);
    cr_assert_eq(clp_profile_add_function(&f->profile, "/home/f.py", "f", 1, &f->function), CLP_OK);
    if (source != NULL)
        cr_assert_eq(clp_profile_set_source(&f->profile, f->function, source, strlen(source)),
                     CLP_OK);
}

static void add(struct fixture *f, int32_t line, struct clp_measures measures)
{
    cr_assert_eq(clp_profile_add_line(&f->profile, f->function, line, &measures), CLP_OK);
}

static void check(struct fixture *f, const char *expected)
{
    clp_buf_clear(&f->out);
    cr_assert_eq(clp_memory_table_text(&f->profile, &f->options, &f->out), CLP_OK);
    cr_expect_str_eq(clp_buf_text(&f->out), expected, "%s", clp_buf_text(&f->out));
}

static void finish(struct fixture *f)
{
    clp_buf_clear(&f->out);
    clp_profile_clear(&f->profile);
    test_mem_check_empty(&f->test);
}

static const struct { size_t precision; const char *expected; } tables[] = {
    {3,
     "Filename: f.py\n"
     "\n"
     "Line #    Mem usage    Increment  Occurrences   Line Contents\n"
     "=============================================================\n"
     "     1   10.000 MiB   10.000 MiB           2   @profile\n"
     "     2                                         def f():\n"
     "     3   11.502 MiB    3.004 MiB           2       a\n"
     "     4 99999.000 MiB -12345.500 MiB  1234567890123       b\n"
     "     5                                         \n"
     "     6    0.500 MiB   -0.004 MiB           7       c\n"
     "\n"
     "\n"},
    {1,
     "Filename: f.py\n"
     "\n"
     "Line #    Mem usage    Increment  Occurrences   Line Contents\n"
     "=============================================================\n"
     "     1     10.0 MiB     10.0 MiB           2   @profile\n"
     "     2                                         def f():\n"
     "     3     11.5 MiB      3.0 MiB           2       a\n"
     "     4  99999.0 MiB -12345.5 MiB  1234567890123       b\n"
     "     5                                         \n"
     "     6      0.5 MiB     -0.0 MiB           7       c\n"
     "\n"
     "\n"},
    {0,
     "Filename: f.py\n"
     "\n"
     "Line #    Mem usage    Increment  Occurrences   Line Contents\n"
     "=============================================================\n"
     "     1       10 MiB       10 MiB           2   @profile\n"
     "     2                                         def f():\n"
     "     3       12 MiB        3 MiB           2       a\n"
     "     4    99999 MiB   -12346 MiB  1234567890123       b\n"
     "     5                                         \n"
     "     6        0 MiB       -0 MiB           7       c\n"
     "\n"
     "\n"},
    {9,
     "Filename: f.py\n"
     "\n"
     "Line #    Mem usage    Increment  Occurrences   Line Contents\n"
     "=============================================================\n"
     "     1  10.000000000 MiB  10.000000000 MiB           2   @profile\n"
     "     2                                         def f():\n"
     "     3  11.501953125 MiB   3.003906250 MiB           2       a\n"
     "     4 99999.000000000 MiB -12345.500000000 MiB  1234567890123       b\n"
     "     5                                         \n"
     "     6   0.500000000 MiB  -0.003906250 MiB           7       c\n"
     "\n"
     "\n"}
};

Test(memory_table, is_as_memory_profiler_prints_it)
{
    struct fixture f;

    start(&f, "@profile\ndef f():\n    a\n    b\n\n    c\n");
    add(&f, 3, (struct clp_measures){.hits = 2, .rss = 10 * MIB + (3 * MIB + 4096) / 2,
                                     .grown = 4 * MIB + 4096, .released = MIB});
    add(&f, 4, (struct clp_measures){.hits = 1234567890123, .rss = 99999 * MIB,
                                     .released = 12345 * MIB + MIB / 2});
    add(&f, 6, (struct clp_measures){.hits = 7, .rss = MIB / 2, .released = 4096});
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        f.options.precision = tables[i].precision;
        check(&f, tables[i].expected);
    }
    finish(&f);
}

#define TITLES                                                        \
    "Line #    Mem usage    Increment  Occurrences   Line Contents\n" \
    "=============================================================\n"

/* A call and what it does on one line: memory_profiler counts both. */
Test(memory_table, a_function_on_one_line)
{
    struct fixture f;

    start(&f, "def f(): return 1\n");
    add(&f, 1, (struct clp_measures){.hits = 3, .rss = 5 * MIB, .grown = 3 * MIB});
    check(&f, "Filename: f.py\n\n" TITLES
              "     1    5.000 MiB    7.000 MiB           6   def f(): return 1\n\n\n");
    finish(&f);
}

Test(memory_table, what_never_ran_is_left_out)
{
    struct fixture f;

    start(&f, "def f():\n    pass\n");
    check(&f, "");
    add(&f, 2, (struct clp_measures){.rss = MIB});
    check(&f, "");
    finish(&f);
}

Test(memory_table, without_source_lines_that_ran)
{
    struct fixture f;

    start(&f, NULL);
    add(&f, 3, (struct clp_measures){.hits = 1, .rss = 2 * MIB, .grown = MIB});
    add(&f, 2000000000, (struct clp_measures){.hits = 1, .rss = 2 * MIB});
    check(&f, "Filename: f.py\n\n" TITLES
              "     1    1.000 MiB    1.000 MiB           1   \n"
              "     3    2.000 MiB    1.000 MiB           1   \n"
              "2000000000    2.000 MiB    0.000 MiB           1   \n\n\n");
    finish(&f);
}

/* A foreign file may claim anything. */
Test(memory_table, numbers_at_the_ends_of_their_types)
{
    struct fixture f;
    const uint64_t most = UINT64_MAX;

    start(&f, "\x1b[2J\n");
    add(&f, -5, (struct clp_measures){.hits = most, .rss = most, .released = most});
    add(&f, 1, (struct clp_measures){.hits = most, .rss = most, .grown = most});
    for (f.options.precision = 0; f.options.precision <= CLP_MEMORY_TABLE_MOST_DIGITS;
         f.options.precision++) {
        clp_buf_clear(&f.out);
        cr_assert_eq(clp_memory_table_text(&f.profile, &f.options, &f.out), CLP_OK);
        cr_expect_not_null(strstr(clp_buf_text(&f.out), "18446744073709551615   \\x1b[2J\n"), "%s",
                           clp_buf_text(&f.out));
    }
    finish(&f);
}
