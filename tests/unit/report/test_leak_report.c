/* SPDX-License-Identifier: MIT */
#include "report/leak_report.h"
#include "helpers.h"
#include "profile/texts.h"

static struct test_mem test;
static struct clp_profile profile;
static struct clp_buf out;

static void start(void)
{
    test_mem_init(&test, 0);
    clp_profile_init(&profile, &test.mem);
    clp_buf_init(&out, &test.mem);
}

static void finish(void)
{
    clp_buf_clear(&out);
    clp_profile_clear(&profile);
    test_mem_check_empty(&test);
}

TestSuite(leak_report, .init = start, .fini = finish);

static void add_leak(int32_t line, uint64_t bytes)
{
    static const char text[] = "def f():\n    K.append(1)\n    x = \x1b[2J\n";
    struct clp_profile_function *function;
    const struct clp_profile_leak leak = {line, bytes, line == 8 ? 512 : 0, 2048, 0.5, 0.987, .per_execution = line == 900, .at_end = line == 9,
                                          .held_by = line == 9 ? (char[]){"m.\x1b[2J: list, 7 items"} : NULL};

    cr_assert_eq(clp_profile_add_function(&profile, "/home/a.py", "f", 7, &function), CLP_OK);
    cr_assert_eq(clp_profile_set_source(&profile, function, text, sizeof text - 1), CLP_OK);
    cr_assert_eq(clp_profile_add_leak(&profile, function, &leak), CLP_OK);
}

Test(leak_report, none)
{
    clp_leak_report_text(&profile, NULL, false, &out);
    clp_leak_report_names(&profile, NULL, &out);
    cr_expect_eq(out.used, 0);
    cr_expect_eq(clp_profile_count_leaks(&profile), 0);
}

Test(leak_report, the_largest_first)
{
    add_leak(8, 1536);
    add_leak(9, 5 << 20);
    add_leak(900, 3);
    cr_expect_eq(clp_profile_count_leaks(&profile), 3);
    clp_leak_report_text(&profile, "/home", false, &out);
    cr_expect_str_eq(clp_buf_text(&out),
                     "\nLeaks: 3 lines\n"
                     "a.py:9  kept 5.0 MiB, 2.0 KiB per call, 0 B/s, sure 99 %  x = \\x1b[2J\n"
                     "  freed only at the end of the program\n"
                     "  held by m.\\x1b[2J: list, 7 items\n"
                     "a.py:8  kept 1.5 KiB +- 512 B, 2.0 KiB per call, 0 B/s, sure 99 %  K.append(1)\n"
                     "a.py:900  kept 3 B, 2.0 KiB per execution, 0 B/s, sure 99 %  \n");
}

static const char *text_by(const char *epoch, uint64_t epochs)
{
    cr_assert_eq(clp_profile_set_text(&profile, &profile.meta.leak_epoch, epoch), CLP_OK);
    profile.meta.leak_epochs = epochs;
    clp_buf_clear(&out);
    clp_leak_report_text(&profile, NULL, false, &out);
    return clp_buf_text(&out);
}

Test(leak_report, no_verdict)
{
    cr_expect_str_eq(text_by("calls", 1), "\nNo verdict on leaks: at most 1 call of a function or execution of a line, 8 needed.\n");
    cr_expect_str_eq(text_by("handle", 7), "\nNo verdict on leaks: 7 calls of handle, 8 needed.\n");
    cr_expect_str_eq(text_by("0.1", 5), "\nNo verdict on leaks: 5 epochs of 0.1 s, 8 needed.\n");
    cr_expect_str_eq(text_by("checkpoints", 0), "\nNo verdict on leaks: 0 checkpoints, 8 needed.\n");
    cr_expect_str_eq(text_by("mixed", 1), "\nNo verdict on leaks: 1 epoch, 8 needed.\n");
    cr_expect_not(clp_leak_report_judged(&profile));
    cr_expect_str_eq(text_by("calls", 8), "\nNo line was found to leak.\n");
    cr_expect(clp_leak_report_judged(&profile));
    profile.meta.leak_epochs = 1000;
    cr_expect(clp_leak_report_judged(&profile));
}

Test(leak_report, functions_without_a_verdict)
{
    cr_assert_eq(clp_profile_set_text(&profile, &profile.meta.leak_unjudged, "m\x1b (1 call)"), CLP_OK);
    cr_expect_str_eq(text_by("calls", 7), "\nNo verdict on leaks: at most 7 calls of a function or executions of a line, 8 needed.\n");
    cr_expect_str_eq(text_by("calls", 8), "\nNo line was found to leak.\n"
                                          "Not judged, because 8 calls are needed: m\\x1b (1 call)\n");
    add_leak(8, 1536);
    const char *text = text_by("calls", 8);
    cr_expect_not_null(strstr(text, "  K.append(1)\nNot judged, because 8 calls are needed: m\\x1b (1 call)\n"), "%s", text);
}

Test(leak_report, a_rate_is_by_what_the_epochs_are)
{
    add_leak(8, 1536);
    cr_expect(strstr(text_by("handle", 8), "2.0 KiB per call, ") != NULL);
    cr_expect(strstr(text_by("0.1", 8), "2.0 KiB per epoch, ") != NULL);
    cr_expect(strstr(text_by("checkpoints", 8), "2.0 KiB per checkpoint, ") != NULL);
    cr_expect(strstr(text_by("mixed", 8), "2.0 KiB per epoch, ") != NULL);
}

Test(leak_report, names)
{
    add_leak(8, 1536);
    clp_leak_report_names(&profile, "/home", &out);
    cr_expect_str_eq(clp_buf_text(&out), "a line leaks: a.py:8 (kept 1.5 KiB)");
    for (int32_t line = 9; line < 21; line++)
        add_leak(line, 10);
    clp_buf_clear(&out);
    clp_leak_report_names(&profile, NULL, &out);
    cr_expect_str_eq(clp_buf_text(&out),
                     "13 lines leak: /home/a.py:8 (kept 1.5 KiB), /home/a.py:9 (kept 10 B), /home/a.py:10 "
                     "(kept 10 B), /home/a.py:11 (kept 10 B), /home/a.py:12 (kept 10 B), /home/a.py:13 (kept 10 B), "
                     "/home/a.py:14 (kept 10 B), /home/a.py:15 (kept 10 B), /home/a.py:16 (kept 10 B), "
                     "/home/a.py:17 (kept 10 B), ..");
}
