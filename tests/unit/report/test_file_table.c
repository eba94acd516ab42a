/* SPDX-License-Identifier: MIT */
/* Whole files in one table. The expected tables were made by hand. */
#include "report/report.h"
#include "helpers.h"
#include "profile/calls.h"
#include "profile/missed.h"
#include "profile/texts.h"

static struct test_mem test;
static struct clp_profile profile;
static struct clp_profile_function *function; /* the one added last */
static struct clp_report_options options;
static struct clp_buf out;

static const char MODULE[] = "import os\n\ndef f(x):\n    if x:\n        return 1\n    return 2\n\nf(0)\n";
static const char F[] = "def f(x):\n    if x:\n        return 1\n    return 2\n";

static void start(void)
{
    struct clp_mem *mem = test_mem_init(&test, 0);

    clp_profile_init(&profile, mem);
    clp_buf_init(&out, mem);
    options = clp_report_defaults();
    options.tables = CLP_TABLES_FILES;
    cr_assert(clp_widths_parse(&options.widths, "hits=4,time=4,self=4"));
}

static void finish(void)
{
    clp_buf_clear(&out);
    clp_profile_clear(&profile);
    test_mem_check_empty(&test);
}

static void add_function(const char *file, int32_t line, const char *name, const char *source)
{
    cr_assert_eq(clp_profile_add_function(&profile, file, name, line, &function), CLP_OK);
    if (source != NULL)
        cr_assert_eq(clp_profile_set_source(&profile, function, source, strlen(source)), CLP_OK);
}

/* Adds a line with its time and self time in microseconds. */
static void add_line(int32_t line, uint64_t hits, uint64_t time, uint64_t self)
{
    struct clp_measures measures = {.hits = hits, .time = time * 1000, .raw_time = time * 1000, .self = self * 1000,
                                    .raw_self = self * 1000};

    cr_assert_eq(clp_profile_add_line(&profile, function, line, &measures), CLP_OK);
    function->total += time * 1000;
}

static void add_missed(int32_t line)
{
    cr_assert_eq(clp_missed_add(&profile, function, line), CLP_OK);
}

static void add_module_and_function(void)
{
    add_function("a.py", 1, "<module>", MODULE);
    add_line(1, 1, 50, 50);
    add_line(3, 1, 10, 10);
    add_line(8, 1, 40, 20);
    add_function("a.py", 3, "f", F);
    add_line(4, 1, 15, 15);
    add_missed(5);
    add_line(6, 1, 5, 5);
}

static const char *report(void)
{
    clp_buf_cut(&out, 0);
    cr_assert_eq(clp_report_text(&profile, &options, &out), CLP_OK);
    return clp_buf_text(&out);
}

static void check(const char *wanted)
{
    cr_expect_str_eq(report(), wanted, "%s", clp_buf_text(&out));
}

#define UNIT "Timer unit: 1e-06 s\n\n"
#define TITLES                                                \
    "Line #      Hits         Time         Self % Program  Line Contents\n" \
    "===================================================================\n"

Test(file_table, functions_of_a_file_are_one_listing)
{
    start();
    add_module_and_function();
    check(UNIT "Self time: 0.0001 s in 2 functions\nFile: a.py\n\n" TITLES
          "     1         1         50.0         50.0      50.0  import os\n"
          "     2                                                \n"
          "     3         1         10.0         10.0      10.0  def f(x):\n"
          "     4         1         15.0         15.0      15.0      if x:\n"
          "     5         0                                              return 1\n"
          "     6         1          5.0          5.0       5.0      return 2\n"
          "     7                                                \n"
          "     8         1         40.0         20.0      20.0  f(0)\n\n");
    finish();
}

Test(file_table, what_is_not_known_is_left_out)
{
    start();
    add_function("a.py", 3, "f", F);
    add_line(4, 1, 15, 15);
    add_function("a.py", 10, "g", "def g():\n    pass\n");
    add_line(11, 2, 5, 5);
    add_function("a.py", 20, "unknown", NULL);
    add_line(21, 2, 5, 5);
    check(UNIT "Self time: 2.5e-05 s in 3 functions\nFile: a.py\n\n" TITLES
          "     3                                                def f(x):\n"
          "     4         1         15.0         15.0      60.0      if x:\n"
          "     5                                                        return 1\n"
          "     6                                                    return 2\n"
          "   ...\n"
          "    10                                                def g():\n"
          "    11         2          5.0          5.0      20.0      pass\n"
          "   ...\n"
          "    21         2          5.0          5.0      20.0  \n\n");
    finish();
}

/* Line 1 calls the lambda on the line: 30 us, of which the lambda took 10. The comprehension spans two lines and took 4 us
 * on each; it is called from line 2, so 4 us are twice in line 2. */
Test(file_table, lines_of_several_functions_have_their_sum)
{
    struct clp_profile_call call = {.calls = 1, .time = 60000};
    uint32_t root;

    start();
    add_function("a.py", 1, "<module>", "x = map(lambda v: v, [1])\ny = [v\n     for v in x]\n");
    add_line(1, 1, 30, 20);
    add_line(2, 1, 30, 22);
    add_function("a.py", 1, "<lambda>", "x = map(lambda v: v, [1])\n");
    add_line(1, 3, 10, 10);
    add_function("a.py", 2, "<listcomp>", "y = [v\n     for v in x]\n");
    add_line(2, 3, 4, 4);
    add_line(3, 4, 4, 4);
    cr_assert_eq(clp_profile_add_call(&profile, &call, &root), CLP_OK);
    call = (struct clp_profile_call){.parent = 1, .line = 1, .function = 1, .calls = 3, .time = 10000};
    cr_assert_eq(clp_profile_add_call(&profile, &call, NULL), CLP_OK);
    call = (struct clp_profile_call){.parent = 1, .line = 2, .function = 2, .calls = 1, .time = 8000};
    cr_assert_eq(clp_profile_add_call(&profile, &call, NULL), CLP_OK);
    check(UNIT "Self time: 6e-05 s in 3 functions\nFile: a.py\n\n" TITLES
          "     1         4         30.0         30.0      50.0 +x = map(lambda v: v, [1])\n"
          "     2         4         30.0         26.0      43.3 +y = [v\n"
          "     3         4          4.0          4.0       6.7       for v in x]\n"
          "\n+ the sum of several functions that share the line\n\n");
    finish();
}

Test(file_table, other_texts_of_a_file_have_a_listing_of_their_own)
{
    start();
    add_module_and_function();
    add_function("a.py", 3, "f (2)", "def f(x):\n    return 3\n");
    add_line(4, 7, 100, 100);
    add_function("b.py", 1, "g", "def g():\n    pass\n");
    add_line(2, 1, 1, 1);
    const char *text = report();
    const char *first = strstr(text, "in 2 functions\nFile: a.py\n"), *second = strstr(text, "File: a.py (2)\n");
    const char *other = strstr(text, "File: b.py\n");
    cr_assert(first != NULL && second != NULL && other != NULL, "%s", text);
    cr_expect(first < second && second < other);
    cr_expect_not_null(strstr(second, "     3                                                def f(x):\n"
                                      "     4         7        100.0        100.0      49.8      return 3\n\n"));
    finish();
}

Test(file_table, whole_text_that_is_kept_fills_the_gaps)
{
    start();
    add_function("a.py", 3, "f", F);
    add_line(4, 1, 15, 15);
    cr_assert_eq(clp_profile_keep_file(&profile, "a.py", (struct clp_span){MODULE, strlen(MODULE)}), CLP_OK);
    const char *text = report();
    cr_expect_not_null(strstr(text, "     1                                                import os\n     2 "), "%s", text);
    cr_expect_not_null(strstr(text, "     8                                                f(0)\n\n"), "%s", text);
    cr_expect_null(strstr(text, "..."));
    finish();
}

/* Texts of exec() all have the same name. */
Test(file_table, generated_functions_without_text_stand_alone)
{
    start();
    add_function("<string>", 1, "f", NULL);
    add_line(2, 1, 1, 1);
    add_function("<string>", 1, "g", NULL);
    add_line(2, 7, 1, 1);
    const char *text = report();
    cr_expect_not_null(strstr(text, "\n     2         1 "), "%s", text);
    cr_expect_not_null(strstr(text, "\n     2         7 "), "%s", text);
    finish();
}

/* The whole text is of another version than the function. */
Test(file_table, whole_text_that_does_not_fit_is_left_out)
{
    start();
    add_function("a.py", 3, "f", F);
    add_line(4, 1, 15, 15);
    cr_assert_eq(clp_profile_keep_file(&profile, "a.py", (struct clp_span){"a\nb\nc\nd\n", 8}), CLP_OK);
    const char *text = report();
    cr_expect_not_null(strstr(text, "     3                                                def f(x):\n"), "%s", text);
    cr_expect_null(strstr(text, "  b\n"), "%s", text);
    finish();
}

Test(file_table, cold_rows_are_folded)
{
    start();
    add_module_and_function();
    options.min_percent = 40;
    options.no_memory = true;
    const char *text = report();
    cr_expect_not_null(strstr(text, "     1         1         50.0         50.0      50.0  import os\n   ...\n"
                                    "     8         1         40.0         20.0      20.0  f(0)\n\n"), "%s", text);
    finish();
}

/* a.py has the function that took most time, b.py took more in all. */
Test(file_table, files_come_in_the_order_of_the_functions_or_of_their_sums)
{
    start();
    add_function("b.py", 1, "slow", NULL);
    add_line(2, 1, 60, 60);
    add_function("a.py", 1, "slowest", NULL);
    add_line(2, 1, 70, 70);
    add_function("b.py", 5, "quick", NULL);
    add_line(6, 1, 20, 20);
    const char *text = report();
    cr_expect_lt(strstr(text, "File: b.py"), strstr(text, "File: a.py"));
    options.choice.order = CLP_CHOICE_BY_time;
    text = report();
    cr_expect_gt(strstr(text, "File: b.py"), strstr(text, "File: a.py"));
    cr_expect_null(strstr(strstr(text, "File: b.py") + 1, "File: b.py"));
    finish();
}

Test(file_table, suits_selected_modules)
{
    start();
    options.tables = CLP_TABLES_USUAL;
    add_function("a.py", 3, "f", F);
    cr_expect_not(clp_report_suits_files(&profile, &options));
    add_function("a.py", 1, "<module>", MODULE);
    cr_expect(clp_report_suits_files(&profile, &options));
    options.tables = CLP_TABLES_FUNCTIONS;
    cr_expect_not(clp_report_suits_files(&profile, &options));
    finish();
}

Test(file_table, memory_may_run_out)
{
    clp_status status = CLP_NO_MEMORY;
    size_t fail_at = 1;

    start();
    add_module_and_function();
    for (; status != CLP_OK; fail_at++) {
        struct test_mem other;
        struct clp_buf text;
        clp_buf_init(&text, test_mem_init(&other, fail_at));
        status = clp_report_text(&profile, &options, &text);
        cr_assert(status == CLP_OK || test_mem_failed(&other));
        clp_buf_clear(&text);
        test_mem_check_empty(&other);
    }
    cr_expect_gt(fail_at, 6);
    finish();
}
