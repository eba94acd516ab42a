/* SPDX-License-Identifier: MIT */
/* The plain table is compared with line_profiler's own output (fixtures/reports, where expect.py
 * says how that is made), the table with memory with texts made by hand. */
#include "report/report.h"
#include "helpers.h"
#include "profile/source.h"
#include "profile/source_block.h"
#include "profile/texts.h"
#include <locale.h>
#include <stdio.h>

struct fixture {
    struct test_mem test;
    struct clp_profile profile;
    struct clp_profile_function *function; /* the one added last */
    struct clp_report_options options;
    struct clp_buf out;
};

static void start(struct fixture *f)
{
    struct clp_mem *mem = test_mem_init(&f->test, 0);

    clp_profile_init(&f->profile, mem);
    clp_buf_init(&f->out, mem);
    f->options = clp_report_defaults();
    f->function = NULL;
}

static void finish(struct fixture *f)
{
    clp_buf_clear(&f->out);
    clp_profile_clear(&f->profile);
    test_mem_check_empty(&f->test);
}

static void add_function(struct fixture *f, const char *file, int32_t line, const char *name,
                         const char *source)
{
    cr_assert_eq(clp_profile_add_function(&f->profile, file, name, line, &f->function), CLP_OK);
    if (source != NULL)
        cr_assert_eq(clp_profile_set_source(&f->profile, f->function, source, strlen(source)),
                     CLP_OK);
}

static void add_line(struct fixture *f, int32_t line, struct clp_measures measures)
{
    cr_assert_eq(clp_profile_add_line(&f->profile, f->function, line, &measures), CLP_OK);
}

static const char *report(struct fixture *f)
{
    clp_buf_clear(&f->out);
    cr_assert_eq(clp_report_text(&f->profile, &f->options, &f->out), CLP_OK);
    return clp_buf_text(&f->out);
}

static void check_contains(const char *text, const char *part)
{
    cr_expect_not_null(strstr(text, part), "no\n%s\nin\n%s", part, text);
}

static void check_lacks(const char *text, const char *part)
{
    cr_expect_null(strstr(text, part), "there is\n%s\nin\n%s", part, text);
}

/* ---- against line_profiler ---- */

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 16);

    if (file == NULL) {
        free(text);
        return NULL;
    }
    cr_assert_lt(fread(text, 1, 1 << 16, file), 1 << 16);
    fclose(file);
    return text;
}

static void set_source(struct fixture *f)
{
    char *text = read_text(f->function->file);
    int32_t first = f->function->first_line;

    if (text == NULL)
        return;
    struct clp_span whole = {text, strlen(text)};
    struct clp_span block = clp_source_lines(whole, first, clp_source_block_end(whole, first));
    cr_assert_eq(clp_profile_set_source(&f->profile, f->function, block.text, block.bytes), CLP_OK);
    free(text);
}

static void read_case_line(struct fixture *f, const char *text)
{
    char file[256], name[256];
    unsigned long long hits, nanos;
    int line;

    if (sscanf(text, "function %255s %d %255s", file, &line, name) == 3) {
        add_function(f, file, line, name, NULL);
        set_source(f);
    } else if (sscanf(text, "%d %llu %llu", &line, &hits, &nanos) == 3) {
        add_line(f, line, (struct clp_measures){.hits = hits, .time = nanos});
    } else if (sscanf(text, "unit %lf", &f->options.unit) != 1) {
        if (strcmp(text, "sort\n") == 0)
            f->options.choice.order = CLP_CHOICE_BY_time;
        f->options.summarize |= strcmp(text, "summarize\n") == 0;
        f->options.choice.skip_zero |= strcmp(text, "skip-zero\n") == 0;
    }
}

static void check_case(const char *name)
{
    struct fixture f;
    char path[256], line[512];

    start(&f);
    snprintf(path, sizeof path, "fixtures/reports/%s.case", name);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s: run from the root of the repository", path);
    while (fgets(line, sizeof line, file) != NULL)
        read_case_line(&f, line);
    fclose(file);
    snprintf(path, sizeof path, "fixtures/reports/%s.txt", name);
    char *expected = read_text(path);
    cr_assert_not_null(expected);
    cr_expect_str_eq(report(&f), expected, "%s:\n%s", name, clp_buf_text(&f.out));
    free(expected);
    finish(&f);
}

Test(report, is_line_profilers_own)
{
    check_case("plain");
    check_case("wide");
    check_case("seconds");
    check_case("missing");
}

/* ---- with memory ---- */

#define MIB (UINT64_C(1) << 20)

static void add_memory_function(struct fixture *f)
{
    f->profile.meta.has_memory = true;
    add_function(f, "/home/me/demo.py", 7, "grow",
                 "def grow():\n    a = [0] * 10\n    # b\n    a\n");
    add_line(f, 8, (struct clp_measures){.hits = 2, .time = 9000, .raw_time = 12000,
                                         .rss = 184 * MIB + MIB * 3 / 8, .grown = 160 * MIB,
                                         .released = MIB / 2});
    add_line(f, 10, (struct clp_measures){.hits = 1, .time = 1000, .raw_time = 3000,
                                          .rss = 24 * MIB, .released = 159 * MIB});
}

Test(report, with_memory)
{
    struct fixture f;

    start(&f);
    add_memory_function(&f);
    f.profile.meta.events = 1234567;
    f.profile.meta.overhead = 31000000;
    f.profile.meta.overhead_error = 2000000;
    f.profile.meta.reads = 321;
    f.profile.meta.own_bytes = MIB / 4;
    cr_assert_eq(clp_profile_set_text(&f.profile, &f.profile.meta.tracer, "monitoring"), CLP_OK);
    char expected[2048], rule[89];
    memset(rule, '=', 88);
    rule[88] = 0;
    snprintf(expected, sizeof expected,
             "Timer unit: 1e-06 s\n\n"
             "Total time: 1e-05 s\n"
             "File: /home/me/demo.py\n"
             "Function: grow at line 7\n\n"
             "Line #      Hits         Time  Per Hit   %% Time    Mem usage    Increment"
             "  Line Contents\n%s\n"
             "%-75sdef grow():\n"
             "     8         2          9.0      4.5     90.0  184.375 MiB  159.500 MiB"
             "      a = [0] * 10\n"
             "%-75s    # b\n"
             "    10         1          1.0      1.0     10.0   24.000 MiB -159.000 MiB      a\n\n"
             "Profiled by clineprof. Counting itself took about 0.031 s, which the times above leave out.\n",
             rule, "     7", "     9");
    cr_expect_str_eq(report(&f), expected, "%s", clp_buf_text(&f.out));
    finish(&f);
}

Test(report, memory_columns_grow)
{
    struct fixture f;

    start(&f);
    add_memory_function(&f);
    add_line(&f, 10, (struct clp_measures){.rss = 123456 * MIB, .released = 1000000 * MIB});
    const char *text = report(&f);
    check_contains(text, "% Time      Mem usage        Increment  Line Contents\n");
    check_contains(text, "   184.375 MiB      159.500 MiB      a = [0]");
    check_contains(text, " 123456.000 MiB -1000159.000 MiB      a\n");
    finish(&f);
}

Test(report, what_stays_alive_is_shown_where_it_was_measured)
{
    struct fixture f;

    start(&f);
    add_memory_function(&f);
    check_lacks(report(&f), "Live");
    f.profile.meta.heap_interval = 65536;
    add_line(&f, 8, (struct clp_measures){.live = 5 * MIB});
    check_contains(report(&f), "    Increment         Live  Line Contents\n");
    check_contains(clp_buf_text(&f.out), "    5.000 MiB  ");
    f.options.no_memory = true;
    check_lacks(report(&f), "Live");
    finish(&f);
}

Test(report, no_memory_gives_the_plain_table)
{
    struct fixture f;

    start(&f);
    add_memory_function(&f);
    f.options.no_memory = true;
    const char *text = report(&f);
    check_contains(text, "\nLine #      Hits         Time  Per Hit   % Time  Line Contents\n");
    check_lacks(text, "MiB");
    check_lacks(text, "Profiled by");
    finish(&f);
}

Test(report, footer_says_what_is_inexact)
{
    struct fixture f;

    start(&f);
    add_memory_function(&f);
    f.profile.meta.inexact_memory = true;
    f.profile.meta.memory_step = 262144;
    f.profile.meta.reads = 2;
    f.options.summarize = true;
    check_contains(report(&f), "0.00 seconds - /home/me/demo.py:7 - grow\n\nProfiled by "
                               "clineprof. Memory is counted in steps of 262144 bytes.\n");
    finish(&f);
}

Test(report, raw_times)
{
    struct fixture f;

    start(&f);
    add_memory_function(&f);
    f.options.choice.raw_times = true;
    f.profile.meta.events = 3;
    f.profile.meta.overhead = 10000000;
    check_contains(report(&f), "Total time: 1.5e-05 s\n");
    check_contains(clp_buf_text(&f.out), "     8         2         12.0      6.0     80.0 ");
    check_contains(clp_buf_text(&f.out), " took about 0.01 s, which the times above include.\n");
    f.function->raw_total = 24000;
    check_contains(report(&f), "Total time: 2.4e-05 s\n");
    check_contains(clp_buf_text(&f.out), "     8         2         12.0      6.0     50.0 ");
    finish(&f);
}

Test(report, memory_that_was_not_read_is_blank)
{
    struct fixture f;

    start(&f);
    add_memory_function(&f);
    add_line(&f, 7, (struct clp_measures){.hits = 1});
    char expected[128];
    snprintf(expected, sizeof expected, "\n%-75sdef grow():\n",
             "     7         1          0.0      0.0      0.0");
    check_contains(report(&f), expected);
    finish(&f);
}

Test(report, no_minus_zero)
{
    struct fixture f;

    start(&f);
    add_memory_function(&f);
    add_line(&f, 9, (struct clp_measures){.hits = 1, .rss = MIB, .released = 100});
    check_contains(report(&f), "    1.000 MiB                   # b\n");
    finish(&f);
}

/* Every tenth part and its neighbours, ties among them, as printf rounds them. */
Test(report, numbers_round_as_printf_does)
{
    struct fixture f;
    char expected[128];

    start(&f);
    add_function(&f, "a.py", 1, "f", NULL);
    for (uint64_t i = 1; i < 4000; i++)
        add_line(&f, (int32_t)i, (struct clp_measures){.hits = i, .time = i * 1025});
    f.function->total = 1 << 30;
    report(&f);
    for (uint64_t i = 1; i < 4000; i++) {
        double time = (double)(i * 1025);
        snprintf(expected, sizeof expected, "\n%6d %9d %12.1f %8.1f %8.1f  \n", (int)i, (int)i,
                 time * (1e-9 / 1e-6), time * (1e-9 / 1e-6) / (double)i, 100 * time / (1 << 30));
        check_contains(clp_buf_text(&f.out), expected);
    }
    finish(&f);
}

Test(report, counts_that_are_too_wide_have_an_exponent)
{
    struct fixture f;

    start(&f);
    add_function(&f, "a.py", 1, "f", "a\nb\nc\nd\n");
    add_line(&f, 1, (struct clp_measures){.hits = 999999999});
    add_line(&f, 2, (struct clp_measures){.hits = 1000000000});
    add_line(&f, 3, (struct clp_measures){.hits = (uint64_t)1 << 63});
    add_line(&f, 4, (struct clp_measures){.hits = UINT64_MAX});
    const char *text = report(&f);
    check_contains(text, "\n     1   999999999  ");
    check_contains(text, "\n     2       1e+09  ");
    check_contains(text, "\n     3 9.22337e+18  ");
    check_contains(text, "\n     4 1.84467e+19  ");
    finish(&f);
}

/* ---- shares and order ---- */

Test(report, shares_are_of_the_functions_time)
{
    struct fixture f;

    start(&f);
    add_function(&f, "a.py", 1, "f", "def f():\n    f()\n    g()\n");
    f.function->total = 20000;
    add_line(&f, 2, (struct clp_measures){.hits = 1, .time = 15000});
    add_line(&f, 3, (struct clp_measures){.hits = 1, .time = 25000});
    const char *text = report(&f);
    check_contains(text, "Total time: 2e-05 s\n");
    check_contains(text, "     2         1         15.0     15.0     75.0      f()\n");
    check_contains(text, "     3         1         25.0     25.0    100.0      g()\n");
    finish(&f);
}

Test(report, order)
{
    struct fixture f;

    start(&f);
    for (int32_t i = 1; i <= 40; i++) {
        char name[] = {'f', (char)('0' + i / 10), (char)('0' + i % 10), 0};
        add_function(&f, "a.py", i, name, "x\n");
        f.function->total = i == 7 ? 9 : 5;
    }
    const char *text = report(&f);
    cr_expect_lt(strstr(text, "f07"), strstr(text, "f40"));
    f.options.choice.order = CLP_CHOICE_BY_time;
    text = report(&f);
    for (int32_t i = 1; i < 40; i++) {
        char one[] = {'f', (char)('0' + i / 10), (char)('0' + i % 10), 0};
        char next[] = {'f', (char)('0' + (i + 1) / 10), (char)('0' + (i + 1) % 10), 0};
        if (i != 6 && i != 7)
            cr_expect_lt(strstr(text, one), strstr(text, next), "%s, %s", one, next);
    }
    cr_expect_gt(strstr(text, "f07"), strstr(text, "f40"));
    finish(&f);
}

/* Two functions, each the larger one in some respects. */
Test(report, order_by_each_key)
{
    static const struct {
        const char *key, *last;
    } cases[] = {{"order", "small"}, {"time", "small"}, {"self", "big"}, {"mem", "small"},
                 {"increment", "big"}, {"hits", "small"}, {"name", "small"}};
    struct fixture f;

    start(&f);
    f.profile.meta.has_memory = true;
    add_function(&f, "a.py", 1, "big", "x\n");
    f.function->total = 5;
    add_line(&f, 1, (struct clp_measures){.hits = 1, .self = 9, .time = 9, .rss = 7, .grown = 80});
    add_line(&f, 2, (struct clp_measures){.hits = 1, .rss = 7});
    add_function(&f, "a.py", 9, "small", "x\n");
    f.function->total = 6;
    add_line(&f, 9, (struct clp_measures){.hits = 3, .self = 8, .time = 8, .rss = 9, .grown = 90,
                                          .released = 20});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        f.options.choice.order = clp_choice_order_named(cases[i].key);
        const char *text = report(&f);
        bool small_last = strstr(text, "Function: big") < strstr(text, "Function: small");
        cr_expect_eq(small_last, strcmp(cases[i].last, "small") == 0, "%s", cases[i].key);
    }
    cr_expect_eq(clp_choice_order_named("times"), CLP_CHOICE_ORDERS);
    finish(&f);
}

Test(report, columns_that_are_asked_for)
{
    struct fixture f;
    size_t bytes;

    start(&f);
    f.profile.meta.has_memory = true;
    add_function(&f, "a.py", 3, "f", "x\n");
    f.function->total = 4000000;
    add_line(&f, 3, (struct clp_measures){.hits = 2, .time = 3000000, .self = 1000000,
                                          .max = 2500000, .await = 7000, .rss = 4 << 20,
                                          .grown = 3 << 20, .released = 1 << 20,
                                          .self_increment = -(1 << 20), .largest = 5 << 20});
    cr_assert_null(clp_columns_parse(
        &f.options.columns, "self,hits,self-per-hit,self-percent,await,max,grown,released,self-increment,"
                    "largest", &bytes));
    check_contains(report(&f),
                   "Line #         Self      Hits Self/Hit   % Self        Await          Max"
                   "        Grown     Released   Self incr.      Largest  Line Contents\n");
    check_contains(report(&f),
                   "     3       1000.0         2    500.0     25.0          7.0       2500.0"
                   "    3.000 MiB    1.000 MiB   -1.000 MiB    5.000 MiB  x\n");
    finish(&f);
}

/* 3.15 us in 9 hits lie between 0.3 and 0.4. line_profiler multiplies before it divides, which gives 0.3. */
Test(report, a_time_per_hit_is_rounded_as_line_profiler_does)
{
    struct fixture f;

    start(&f);
    add_function(&f, "a.py", 3, "f", "x\n");
    f.function->total = 6300;
    add_line(&f, 3, (struct clp_measures){.hits = 9, .time = 3150, .self = 3150});
    check_contains(report(&f), "     3         9          3.1      0.3     50.0  x\n");
    finish(&f);
}

Test(report, columns_there_are_not)
{
    struct clp_columns columns = {.count = 0};
    size_t bytes;

    const char *bad = clp_columns_parse(&columns, "hits,tim,self", &bytes);
    cr_assert_not_null(bad);
    cr_expect(bytes == 3 && strncmp(bad, "tim,", 4) == 0);
    bad = clp_columns_parse(&columns, "hits,", &bytes);
    cr_expect(bad != NULL && bytes == 0);
    bad = clp_columns_parse(&columns, "hits,hits,hits,hits,hits,hits,hits,hits,hits,hits,"
                                    "hits,hits,hits,hits,hits,hits,hits,hits,hits,hits,"
                                    "hits,hits,hits,hits,hits", &bytes);
    cr_expect_str_eq(bad, "");
    cr_expect_eq(columns.count, 0);
}

Test(report, empty)
{
    struct fixture f;

    start(&f);
    cr_expect_str_eq(report(&f), "Timer unit: 1e-06 s\n\n");
    finish(&f);
}

/* ---- odd lines ---- */

Test(report, lines_outside_the_source_are_shown)
{
    struct fixture f;

    start(&f);
    add_function(&f, "a.py", 5, "f", "x\n");
    add_line(&f, 2, (struct clp_measures){.hits = 1});
    add_line(&f, 900, (struct clp_measures){.hits = 3});
    cr_expect_not_null(strstr(report(&f), "=\n"
                                          "     2         1          0.0      0.0           \n"
                                          "     5                                           x\n"
                                          "   900         3          0.0      0.0           \n\n"));
    finish(&f);
}

Test(report, far_away_lines_do_not_make_a_far_too_long_report)
{
    struct fixture f;

    start(&f);
    for (int i = 0; i < 100; i++) {
        char name[] = {(char)('A' + i % 10), (char)('A' + i / 10), 0};
        add_function(&f, "a.py", 1, name, NULL);
        add_line(&f, 900000, (struct clp_measures){.hits = 1});
        add_line(&f, INT32_MAX, (struct clp_measures){.hits = 1});
    }
    check_contains(report(&f), "\n2147483647         1          0.0      0.0           \n\n");
    cr_expect_lt(f.out.used, 100 * MIB);
    finish(&f);
}

Test(report, a_function_without_source_keeps_its_name_beside_memory)
{
    struct fixture f;

    start(&f);
    f.profile.meta.has_memory = true;
    add_function(&f, "gone.py", 5, "lost", NULL);
    check_contains(report(&f), "File: gone.py\nFunction: lost at line 5\n\nCould not find file "
                               "gone.py\nAre you sure");
    finish(&f);
}

Test(report, tells_what_was_compiled)
{
    struct fixture f;

    start(&f);
    add_function(&f, "a.py", 5, "fast", "def fast(): pass\n");
    cr_assert_eq(clp_profile_set_text(&f.profile, &f.profile.functions[0].compiler, "x\x1b"), CLP_OK);
    check_contains(report(&f), "Function: fast at line 5\n"
                               "Compiled by: x\\x1b; calls of the compiled code are not counted\n\n");
    finish(&f);
}

Test(report, tells_what_is_known_of_compiled_code)
{
    static const struct {
        struct clp_compiled known;
        const char *said;
    } cases[] = {
        {{.calls = 1}, "1 call from Python to the compiled code is not counted"},
        {{.calls = 12}, "12 calls from Python to the compiled code are not counted"},
        {{.times = 1, .nanos = 1250000000}, "compiling took 1.250 s; calls of the compiled code are not counted"},
        {{.calls = 3, .times = 2},
         "2 compilations took 0.000 s; 3 calls from Python to the compiled code are not counted"},
    };
    struct fixture f;

    start(&f);
    add_function(&f, "a.py", 5, "fast", "def fast(): pass\n");
    cr_assert_eq(clp_profile_set_text(&f.profile, &f.profile.functions[0].compiler, "numba"), CLP_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clp_buf expected;
        clp_buf_init(&expected, &f.test.mem);
        clp_buf_add_format(&expected, "Compiled by: numba; %s\n\n", cases[i].said);
        f.profile.functions[0].compiled = cases[i].known;
        check_contains(report(&f), clp_buf_text(&expected));
        clp_buf_clear(&expected);
    }
    finish(&f);
}

Test(report, code_whose_text_is_gone_says_so)
{
    struct fixture f;

    start(&f);
    add_function(&f, "edited.py", 5, "old", NULL);
    f.profile.functions[0].source_changed = true;
    check_contains(report(&f), "File: edited.py\nFunction: old at line 5\n\nThe file was changed: the "
                               "code that ran was compiled from another text.\nContinuing without");
    finish(&f);
}

/* ---- foreign text ---- */

Test(report, controls_and_broken_utf8_are_escaped)
{
    struct fixture f;

    start(&f);
    f.profile.meta.has_memory = true;
    add_function(&f, "a\n\x1b[2Jb\xff.py", 1, "n\x07\rm\xc2\x9b",
                 "\tab\x1b]0;x\x07 \x7f \xc2\x85 \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\n"
                 "\xc3 \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82\n"
                 "\xc2\xa0\f|\xe0\x9f\xbf|\xf0\x8f\xbf\xbf|\xf5|\x80\n");
    cr_assert_eq(clp_profile_set_text(&f.profile, &f.profile.meta.tracer, "\x1b"), CLP_OK);
    f.options.footer_details = true;
    f.options.summarize = true;
    const char *text = report(&f);
    check_contains(text, "File: a\\x0a\\x1b[2Jb\\xff.py\n");
    check_contains(text, "Function: n\\x07\\x0dm\\xc2\\x9b at line 1\n");
    check_contains(text, " - a\\x0a\\x1b[2Jb\\xff.py:1 - n\\x07\\x0dm\\xc2\\x9b\n");
    check_contains(text, "  \tab\\x1b]0;x\\x07 \\x7f \\xc2\\x85 \xc3\xa9 \xe2\x82\xac "
                         "\xf0\x9f\x98\x80\n");
    check_contains(text, "  \\xc3 \\xc0\\xaf \\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80 \\xe2\\x82\n");
    check_contains(text, "  \xc2\xa0\\x0c|\\xe0\\x9f\\xbf|\\xf0\\x8f\\xbf\\xbf|\\xf5|\\x80\n");
    check_contains(text, "tracer \\x1b.\n");
    finish(&f);
}

static void check_file(const char *folder, const char *file, const char *shown)
{
    struct fixture f;
    char expected[256];

    start(&f);
    add_function(&f, file, 1, "f", "x\n");
    f.options.folder = folder;
    snprintf(expected, sizeof expected, "\nFile: %s\n", shown);
    check_contains(report(&f), expected);
    finish(&f);
}

Test(report, files_under_the_folder_are_relative)
{
    check_file(NULL, "/home/me/a.py", "/home/me/a.py");
    check_file("/home/me", "/home/me/b/a.py", "b/a.py");
    check_file("/home/me/", "/home/me/a.py", "a.py");
    check_file("/home/me", "/home/meh/a.py", "/home/meh/a.py");
    check_file("/home/me", "/home/me", "/home/me");
    check_file("/home/me", "a.py", "a.py");
    check_file("/", "/a.py", "a.py");
    check_file("", "/a.py", "/a.py");
}

Test(report, the_programs_locale_has_no_say)
{
    struct fixture f;

    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL && setlocale(LC_ALL, "fr_FR.UTF-8") == NULL)
        cr_skip_test("no locale with a decimal comma is installed");
    start(&f);
    add_memory_function(&f);
    check_contains(report(&f), "          9.0      4.5     90.0  184.375 MiB");
    check_lacks(clp_buf_text(&f.out), "0,");
    finish(&f);
}

/* ---- marks ---- */

static void add_marked_function(struct fixture *f)
{
    f->profile.meta.has_memory = true;
    add_function(f, "a.py", 3, "f", "def f():\n    x = \"\"\"\n    \x01y\"\"\"\n    # z\n    return\n");
    add_line(f, 4, (struct clp_measures){.hits = 1, .time = 900, .rss = MIB});
    add_line(f, 5, (struct clp_measures){.hits = 1, .time = 5, .rss = MIB});
    add_line(f, 7, (struct clp_measures){.hits = 1, .time = 95, .rss = 3 * MIB, .grown = 2 * MIB});
    f->options.marked = true;
    size_t bytes;
    cr_assert_null(clp_columns_parse(&f->options.columns, "hits,percent,mem", &bytes));
}

/* 9 of 100 are left: what was taken off is known to about 30. */
Test(report, a_time_below_resolution_is_marked)
{
    struct fixture f;

    start(&f);
    add_marked_function(&f);
    f.profile.functions[0].lines[0].measures.raw_self = 100;
    f.profile.functions[0].lines[0].measures.self = 9;
    check_contains(report(&f), "\x03" "e0     4");
    f.options.choice.raw_times = true;
    check_lacks(report(&f), "\x03" "e");
    finish(&f);
}

Test(report, marked)
{
    struct fixture f;

    start(&f);
    add_marked_function(&f);
    f.options.min_percent = 50;
    cr_expect_str_eq(report(&f),
                     "\x01Timer unit: 1e-06 s\n\n"
                     "\x01Total time: 1e-06 s\n\x01""File: a.py\n\x01""Function: f at line 3\n\n"
                     "\x02\x1enLine #\x1e" "c      Hits\x1ep   % Time\x1e" "b    Mem usage"
                     "\x1es  Line Contents\n"
                     "\x02=====================================================\n"
                     "\x03" "00     3\x1f          \x1f         \x1f             \x1f  def f():\n"
                     "\x03" "90     4\x1f         1\x1f     90.0\x1f    1.000 MiB\x1f      x = \"\"\"\n"
                     "\x05   ...\n\x04    \\x01y\"\"\"\n\x04    # z\n"
                     "\x03" "49     7\x1f         1\x1f      9.5\x1f    3.000 MiB\x1f      return\n\n",
                     "%s", clp_buf_text(&f.out));
    finish(&f);
}

/* Taking the marks out gives the plain report. */
Test(report, marks_change_nothing_else)
{
    struct fixture f;
    char marked[4096];
    size_t used = 0;

    for (size_t lines = 0; lines < 3; lines += 2) {
        start(&f);
        add_marked_function(&f);
        f.options.lines = lines;
        used = 0;
        for (const char *at = report(&f); *at != 0; at++) {
            if (*at == 3)
                at += 2;
            else if (*at == 0x1e)
                at++;
            else if (strchr("\x01\x02\x1f", *at) == NULL)
                marked[used++] = *at;
        }
        marked[used] = 0;
        f.options.marked = false;
        cr_expect_str_eq(report(&f), marked);
        finish(&f);
    }
}

/* The colour of a line is its share of the whole program, not of its function. */
Test(report, a_line_of_a_short_function_is_cold)
{
    struct fixture f;

    start(&f);
    add_function(&f, "a.py", 1, "long", "def f():\n    1\n");
    add_line(&f, 2, (struct clp_measures){.hits = 1, .time = 700000, .self = 700000});
    add_function(&f, "a.py", 3, "short", "def f():\n    2\n");
    add_line(&f, 4, (struct clp_measures){.hits = 1, .time = 7000, .self = 7000});
    f.options.marked = true;
    check_contains(report(&f), "\x03" "90     2\x1f");
    check_contains(report(&f), "\x03" "10     4\x1f"); /* 7 of 707 */
    finish(&f);
}

/* ---- units, and what stands above the tables ---- */

Test(report, times_in_units_that_fit)
{
    struct fixture f;
    static const struct {
        uint64_t nanos;
        const char *cell, *total;
    } times[] = {
        {1190000000, "  1.19 s ", "1.19 s"}, {34700000, " 34.7  ms", "34.7 ms"}, {120, "120    ns", "120 ns"},
        {999499, "999    us", "999 us"}, {999500, "  1.00 ms", "1.00 ms"}, {9994, "  9.99 us", "9.99 us"},
        {9996, " 10.0  us", "10.0 us"}, {99960, "100    us", "100 us"}, {123456000000000, "123456    s ", "123456 s"},
    };
    char expected[64];

    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        start(&f);
        f.options.unit = CLP_UNIT_AUTO;
        f.options.summarize = true;
        add_function(&f, "a.py", 1, "f", NULL);
        add_line(&f, 2, (struct clp_measures){.hits = 1, .time = times[i].nanos});
        f.function->source_changed = true;
        snprintf(expected, sizeof expected, "Total time: %s\nFile", times[i].total);
        cr_expect_eq(strstr(report(&f), expected), clp_buf_text(&f.out), "%s", clp_buf_text(&f.out));
        snprintf(expected, sizeof expected, "     2         1 %s %s    100.0  \n", times[i].cell, times[i].cell);
        check_contains(report(&f), expected);
        snprintf(expected, sizeof expected, "\n%s - a.py:1 - f\n", times[i].cell);
        check_contains(report(&f), expected);
        finish(&f);
    }
}

Test(report, the_hottest_lines_stand_above_the_tables)
{
    struct fixture f;

    start(&f);
    f.options.hottest = f.profile.meta.has_memory = true;
    add_function(&f, "a.py", 1, "f", "def f():\n    one\n    two\n");
    add_line(&f, 2, (struct clp_measures){.hits = 1, .time = 900, .self = 25, .rss = 3 * MIB, .grown = MIB});
    add_line(&f, 3, (struct clp_measures){.hits = 1, .time = 50, .self = 50, .rss = 2 * MIB, .await = 2000000});
    add_function(&f, "b.py", 1, "g", "def g():\n    three\n");
    add_line(&f, 2, (struct clp_measures){.hits = 1, .time = 25, .self = 25, .rss = MIB, .await = 5000000});
    const char *text = report(&f);
    check_contains(text, "Timer unit: 1e-06 s\n\n"
                         "Hottest lines by self: 3 of 3\n\n"
                         "Line    Function         Self % Program  Line Contents\n"
                         "======================================================\n"
                         "a.py:3  f                 0.1      50.0  two\n"
                         "a.py:2  f                 0.0      25.0  one\n"
                         "b.py:2  g                 0.0      25.0  three\n\n"
                         "Memory: at most 3.000 MiB; most was added at a.py:2 in f: 1.000 MiB\n"
                         "Suspended (await): 7.00 ms in all; most at b.py:2 in g: 5.00 ms\n\n"
                         "Total time: ");
    f.options.no_memory = true;
    check_lacks(report(&f), "Memory: ");
    f.options.lines = 1; /* is such a list itself */
    check_lacks(report(&f), "3 of 3");
    check_contains(clp_buf_text(&f.out), "Suspended (await): ");
    f.options.hottest = false;
    check_lacks(report(&f), "Waiting");
    finish(&f);
}

Test(report, without_self_times_the_hottest_are_by_time)
{
    struct fixture f;

    start(&f);
    f.options.hottest = true;
    add_function(&f, "a.py", 1, "f", "def f():\n    one\n    two\n");
    add_line(&f, 2, (struct clp_measures){.hits = 1, .time = 1000});
    add_line(&f, 3, (struct clp_measures){.hits = 1, .time = 3000});
    check_contains(report(&f), "Hottest lines by time: 2 of 2\n\n");
    check_contains(clp_buf_text(&f.out), "\na.py:3  f                 3.0     75.0  two\n");
    f.options.hottest = false;
    f.options.lines = 5;
    f.options.choice.order = CLP_CHOICE_BY_self;
    check_contains(report(&f), "Hottest lines by time: 2 of 2\n\n");
    check_contains(clp_buf_text(&f.out), "Hits         Time  Per Hit   % Time  Line Contents\n");
    finish(&f);
}

/* Rows of more lines than 10,000 are not kept, which is not to be seen: what is hot lies before the last lines. */
Test(report, a_long_function_is_folded_as_others_are)
{
    struct fixture few, many;

    for (int with_memory = 0; with_memory < 2; with_memory++) {
        for (int i = 0; i < 2; i++) {
            struct fixture *f = i == 0 ? &few : &many;
            start(f);
            f->options.min_percent = 5;
            f->profile.meta.has_memory = with_memory;
            add_function(f, "a.py", 1, "long", NULL);
            for (int line = 1; line <= 10000 + i; line++) {
                bool hot = line % 1000 == 500, grows = line % 2000 == 700;
                add_line(f, line, (struct clp_measures){.hits = 1, .time = hot ? 1000000 : 0,
                                                        .rss = 8 * MIB, .grown = grows ? MIB : 0});
            }
        }
        check_contains(report(&few), "\n   ...\n  9500  ");
        cr_expect_str_eq(clp_buf_text(&few.out), report(&many));
        finish(&few);
        finish(&many);
    }
}

static void check_out_of_memory(size_t lines, double min_percent)
{
    struct fixture f;
    bool failed = true;

    start(&f);
    f.options.lines = lines;
    f.options.min_percent = min_percent;
    f.options.marked = min_percent != 0;
    f.options.hottest = f.options.choice.bodies_last = f.options.marked;
    add_memory_function(&f);
    add_function(&f, "gone.py", 5, "lost", NULL);
    for (int i = 1; i < 50; i++)
        add_line(&f, i, (struct clp_measures){.hits = 1});
    for (size_t fail_at = 1; failed; fail_at++) {
        f.test.calls = 0;
        f.test.fail_at = fail_at;
        clp_status status = clp_report_text(&f.profile, &f.options, &f.out);
        failed = test_mem_failed(&f.test);
        cr_expect_eq(status, failed ? CLP_NO_MEMORY : CLP_OK, "call %zu", fail_at);
        clp_buf_clear(&f.out);
    }
    cr_expect_gt(f.test.calls, 3);
    finish(&f);
}

Test(report, out_of_memory_anywhere)
{
    check_out_of_memory(0, 0);
    check_out_of_memory(0, 20);
    check_out_of_memory(3, 0);
}
