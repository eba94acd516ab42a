/* SPDX-License-Identifier: MIT */
/* What the command line makes of it, tests/cli/test_view_options.py tries. */
#include "report/choice.h"
#include "helpers.h"
#include "profile/texts.h"
#include <stdio.h>

struct fixture {
    struct test_mem test;
    struct clp_profile profile;
};

static struct clp_profile_function *add(struct fixture *f, const char *file, const char *name,
                                        uint64_t time)
{
    struct clp_profile_function *function;
    struct clp_measures measures = {.hits = time != 0, .time = time, .raw_time = 100 - time};

    cr_assert_eq(clp_profile_add_function(&f->profile, file, name, 1, &function), CLP_OK);
    cr_assert_eq(clp_profile_add_line(&f->profile, function, 2, &measures), CLP_OK);
    cr_assert_eq(clp_profile_set_source(&f->profile, function, name, strlen(name)), CLP_OK);
    return function;
}

static void start(struct fixture *f)
{
    clp_profile_init(&f->profile, test_mem_init(&f->test, 0));
    add(f, "/a/one.py", "b", 30);
    add(f, "/a/one.py", "c", 0);
    add(f, "/a/two.py", "a", 20);
    add(f, "/a/two.py", "d", 40);
}

static void finish(struct fixture *f)
{
    clp_profile_clear(&f->profile);
    test_mem_check_empty(&f->test);
}

static void check_names(const struct fixture *f, const char *names)
{
    cr_expect_eq(f->profile.function_count, strlen(names));
    for (size_t i = 0; i < f->profile.function_count; i++) {
        const struct clp_profile_function *function = &f->profile.functions[i];
        cr_expect_eq(function->name[0], names[i], "%s, not %s", function->name, names);
        cr_expect_str_eq(function->source, function->name);
    }
}

static void check_reduced(const struct clp_choice_options *options, const char *names)
{
    struct fixture f;

    start(&f);
    f.profile.meta.events = 7;
    cr_assert_eq(clp_choice_reduce(&f.profile, options), CLP_OK);
    check_names(&f, names);
    test_check_profile(&f.profile); /* each is found by its key, and more can be added */
    cr_expect_eq(f.profile.meta.events, 7);
    finish(&f);
}

Test(choice, reduces_and_orders)
{
    char *functions[] = {"[ad]", "c", NULL}, *files[] = {"two.*", NULL};

    check_reduced(&(struct clp_choice_options){0}, "bcad");
    check_reduced(&(struct clp_choice_options){.order = CLP_CHOICE_BY_time}, "cabd");
    check_reduced(&(struct clp_choice_options){.order = CLP_CHOICE_BY_time, .raw_times = true},
                  "dbac");
    check_reduced(&(struct clp_choice_options){.order = CLP_CHOICE_BY_NAME, .skip_zero = true},
                  "abd");
    check_reduced(&(struct clp_choice_options){.top = 2}, "bd");
    check_reduced(&(struct clp_choice_options){.top = 2, .raw_times = true}, "ca");
    check_reduced(&(struct clp_choice_options){.functions = functions}, "cad");
    check_reduced(&(struct clp_choice_options){.functions = functions, .files = files, .top = 1},
                  "d");
    files[0] = "nosuch";
    check_reduced(&(struct clp_choice_options){.files = files}, "");
}

/* Adds a function with one line, its second. */
static void add_text(struct fixture *f, const char *name, const char *text, uint64_t self)
{
    struct clp_profile_function *function;
    struct clp_measures measures = {.hits = 1, .time = 10, .self = self};

    cr_assert_eq(clp_profile_add_function(&f->profile, "/a.py", name, 1, &function), CLP_OK);
    cr_assert_eq(clp_profile_add_line(&f->profile, function, 2, &measures), CLP_OK);
    cr_assert_eq(clp_profile_set_source(&f->profile, function, text, strlen(text)), CLP_OK);
}

static void check_order(enum clp_choice_order order, bool bodies_last, const char *names)
{
    struct clp_choice_options options = {.order = order, .bodies_last = bodies_last};
    struct clp_choice choice;
    struct fixture f;
    char found[8] = "";

    clp_profile_init(&f.profile, test_mem_init(&f.test, 0));
    add_text(&f, "<module>", "\"\"\"\"\"\nx = 1\n", 9);
    add_text(&f, "Class", "@decorated\nclass Class:\n    y = 1\n", 9);
    add_text(&f, "f", "@decorated\ndef f():\n    class g: pass\n", 0);
    add_text(&f, "<module> [reader]", "\nimport numpy\n", 80); /* imports do not make a body hot */
    add_text(&f, "Hot", "class Hot:\n    x = 1\n", 20);
    add_text(&f, "<lambda>", "lambda: [\n1]\n", 1);
    cr_assert_eq(clp_choice_make(&choice, &f.profile, &options, f.profile.mem), CLP_OK);
    cr_assert_eq(choice.count, 6);
    for (size_t i = 0; i < choice.count; i++)
        found[i] = (char)('0' + choice.places[i]);
    cr_expect_str_eq(found, names, "%s", found);
    clp_choice_clear(&choice);
    finish(&f);
}

Test(choice, bodies_stand_last_unless_they_are_hot)
{
    check_order(CLP_CHOICE_BY_ORDER, false, "012345");
    check_order(CLP_CHOICE_BY_ORDER, true, "245013");
    check_order(CLP_CHOICE_BY_self, true, "250143");
}

Test(choice, of_an_empty_profile)
{
    struct test_mem test;
    struct clp_profile profile;
    struct clp_choice choice;

    clp_profile_init(&profile, test_mem_init(&test, 0));
    cr_expect_eq(clp_choice_make(&choice, &profile, &(struct clp_choice_options){.top = 3},
                                 profile.mem), CLP_OK);
    cr_expect_eq(choice.count, 0);
    clp_choice_clear(&choice);
    cr_expect_eq(clp_choice_reduce(&profile, &(struct clp_choice_options){.top = 3}), CLP_OK);
    clp_profile_clear(&profile);
    test_mem_check_empty(&test);
}

static clp_status take_lines(struct fixture *f, size_t most, size_t *count)
{
    struct clp_choice_options options = {.order = CLP_CHOICE_BY_time};
    struct clp_choice choice;
    struct clp_choice_line *lines;
    size_t all;

    clp_status status = clp_choice_make(&choice, &f->profile, &options, f->profile.mem);
    if (status != CLP_OK)
        return status;
    status = clp_choice_lines(&choice, &f->profile, &options, most, &lines, count, &all);
    if (status == CLP_OK) {
        cr_expect_eq(all, 3); /* c has none with data: its raw time is 100 */
        for (size_t i = 1; i < *count; i++)
            cr_expect_geq(lines[i - 1].key, lines[i].key);
        clp_mem_free(f->profile.mem, lines, *count, sizeof *lines);
    }
    clp_choice_clear(&choice);
    return status;
}

Test(choice, lines)
{
    struct fixture f;
    size_t count;

    start(&f);
    f.profile.functions[1].lines[0].measures.raw_time = 0;
    for (size_t most = 0; most < 5; most++) {
        cr_assert_eq(take_lines(&f, most, &count), CLP_OK);
        cr_expect_eq(count, most < 3 ? most : 3);
    }
    finish(&f);
}

Test(choice, out_of_memory_anywhere)
{
    bool failed = true;

    for (size_t fail_at = 1; failed; fail_at++) {
        struct fixture f;
        size_t count;
        start(&f);
        f.profile.functions[1].lines[0].measures.raw_time = 0;
        f.test.calls = 0;
        f.test.fail_at = fail_at;
        clp_status status = take_lines(&f, 2, &count);
        if (status == CLP_OK)
            status = clp_choice_reduce(&f.profile, &(struct clp_choice_options){.top = 3});
        failed = test_mem_failed(&f.test);
        cr_expect_eq(status, failed ? CLP_NO_MEMORY : CLP_OK, "call %zu", fail_at);
        finish(&f);
    }
}

/* ---- statements ---- */

static void check_folded(const int32_t *starts, size_t count, const char *expected)
{
    struct test_mem test;
    struct clp_profile profile;
    struct clp_profile_function *function;
    char text[128] = "";

    clp_profile_init(&profile, test_mem_init(&test, 0));
    cr_assert_eq(clp_profile_add_function(&profile, "a", "f", 11, &function), CLP_OK);
    for (int32_t line = 9; line < 17; line++) {
        struct clp_measures measures = {.hits = (uint64_t)line, .time = 1, .max = (uint64_t)line};
        cr_assert_eq(clp_profile_add_line(&profile, function, line, &measures), CLP_OK);
    }
    clp_choice_fold(function, starts, count);
    for (size_t i = 0; i < function->line_count; i++) {
        const struct clp_profile_line *line = &function->lines[i];
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d:%d/%d/%d ", (int)line->line,
                 (int)line->measures.hits, (int)line->measures.time, (int)line->measures.max);
    }
    cr_expect_str_eq(text, expected, "%s", text);
    test_check_profile(&profile);
    clp_profile_clear(&profile);
    test_mem_check_empty(&test);
}

Test(choice, statements_fold)
{
    /* lines 11 to 15 of the file are 1 to 5 of the source; 9, 10 and 16 lie outside */
    check_folded((const int32_t[]){0, 1, 1, 3, 3, 3}, 6,
                 "9:9/1/9 10:10/1/10 11:11/2/12 13:13/3/15 16:16/1/16 ");
    check_folded((const int32_t[]){0, 1, 1, 1, 1, 1, 1}, 7, "9:9/1/9 10:10/1/10 11:11/6/16 ");
    /* lines of one statement on both sides of another */
    check_folded((const int32_t[]){0, 1, 1, 3, 1, 3}, 6,
                 "9:9/1/9 10:10/1/10 11:11/3/14 13:13/2/15 16:16/1/16 ");
    /* nothing, and nonsense */
    check_folded(NULL, 0,
                 "9:9/1/9 10:10/1/10 11:11/1/11 12:12/1/12 13:13/1/13 14:14/1/14 15:15/1/15 "
                 "16:16/1/16 ");
    check_folded((const int32_t[]){7, -5, 0, 9, INT32_MAX, INT32_MIN, 6}, 7,
                 "9:9/1/9 10:10/1/10 11:11/1/11 12:12/1/12 13:13/1/13 14:14/1/14 15:15/1/15 "
                 "16:16/1/16 ");
}
