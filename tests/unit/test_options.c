/* SPDX-License-Identifier: MIT */
/* Command lines are written as one text, cut at spaces ('' is an empty word), to be read at a
 * glance. */
#include "options.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define MOST_WORDS 32

struct line {
    char text[512];
    char *argv[MOST_WORDS + 1];
    int argc;
    struct clp_mem mem;
    struct clp_buf out;
};

static void cut(struct line *line, const char *program, const char *text)
{
    *line = (struct line){.mem = clp_mem_system()};
    clp_buf_init(&line->out, &line->mem);
    snprintf(line->text, sizeof line->text, "%s %s", program, text);
    for (char *word = strtok(line->text, " "); word != NULL; word = strtok(NULL, " ")) {
        cr_assert_lt(line->argc, MOST_WORDS);
        line->argv[line->argc++] = strcmp(word, "''") == 0 ? word + 2 : word;
    }
}

static struct clp_run_options run(struct line *line, const char *text)
{
    struct clp_run_options options;

    cut(line, "/usr/bin/ckernprof", text);
    cr_expect(clp_run_options_parse(line->argc, line->argv, &options, &line->out), "%s: %s", text,
              clp_buf_text(&line->out));
    cr_expect_eq(line->out.used, 0);
    return options;
}

static struct clp_view_options view(struct line *line, const char *text)
{
    struct clp_view_options options;

    cut(line, "clineprof", text);
    cr_expect(clp_view_options_parse(line->argc, line->argv, &options, &line->out), "%s: %s", text,
              clp_buf_text(&line->out));
    return options;
}

static void refuse(const char *text, const char *message)
{
    struct clp_run_options options;
    struct line line;

    cut(&line, "/usr/bin/ckernprof", text);
    cr_expect_not(clp_run_options_parse(line.argc, line.argv, &options, &line.out), "%s", text);
    char whole[512];
    snprintf(whole, sizeof whole, "%s; see ckernprof --help", message);
    cr_expect_str_eq(clp_buf_text(&line.out), whole, "%s: %s", text, clp_buf_text(&line.out));
    clp_buf_clear(&line.out);
}

Test(options, defaults)
{
    struct line line;
    struct clp_run_options o = run(&line, "");

    cr_expect(!o.line_by_line && !o.builtin && !o.skip_zero && !o.no_memory && o.view == 0);
    cr_expect(!o.help && !o.version && o.unit == 1e-6);
    cr_expect(o.outfile == NULL && o.tracer == NULL && o.python == NULL && o.target == NULL);
    cr_expect(o.target_kind == CLP_TARGET_NONE && o.program_argc == 0);
}

Test(options, survives_an_empty_argv)
{
    struct clp_run_options o;
    struct clp_view_options v;
    struct line line;
    char *none[] = {NULL};

    cut(&line, "x", "");
    cr_expect(clp_run_options_parse(0, none, &o, &line.out));
    cr_expect_eq(o.target_kind, CLP_TARGET_NONE);
    cr_expect(clp_view_options_parse(0, none, &v, &line.out));
    cr_expect_eq(v.file_count, 0);
}

Test(options, every_option)
{
    struct line line;
    struct clp_run_options o = run(&line, "-l -b -v -v -z -u 1e-3 -o a.lprof --tracer settrace "
                                          "--no-memory --python /bin/py s.py");

    cr_expect(o.line_by_line && o.builtin && o.skip_zero && o.no_memory);
    cr_expect_eq(o.view, 2);
    cr_expect_eq(o.unit, 1e-3);
    cr_expect_str_eq(o.outfile, "a.lprof");
    cr_expect_str_eq(o.tracer, "settrace");
    cr_expect_str_eq(o.python, "/bin/py");
    o = run(&line, "--line-by-line --builtin --view --skip-zero --unit 1 --outfile=a=b "
                   "--tracer=x --memory --python=p s.py");
    cr_expect(o.line_by_line && o.builtin && o.skip_zero && !o.no_memory && o.view == 1);
    cr_expect_eq(o.unit, 1);
    cr_expect_str_eq(o.outfile, "a=b");
}

Test(options, line_by_line_implies_builtin)
{
    struct line line;

    cr_expect(run(&line, "-l s.py").builtin);
    cr_expect(run(&line, "-l --no-builtin s.py").builtin);
    cr_expect_not(run(&line, "-l --no-line-by-line s.py").builtin);
    cr_expect_not(run(&line, "-v s.py").builtin);
}

Test(options, short_ones_join)
{
    struct line line;
    struct clp_run_options o = run(&line, "-lvvz s.py");

    cr_expect(o.line_by_line && o.skip_zero && o.view == 2);
    cr_expect_str_eq(run(&line, "-lo out.lprof s.py").outfile, "out.lprof");
    cr_expect_str_eq(run(&line, "-loout.lprof s.py").outfile, "out.lprof");
    cr_expect_str_eq(run(&line, "-o=out.lprof s.py").outfile, "out.lprof");
    cr_expect_eq(run(&line, "-vu1e-9 s.py").unit, 1e-9);
    cr_expect_eq(run(&line, "-u=2 s.py").unit, 2);
}

static void check_target(const char *text, enum clp_target_kind kind, const char *target, int argc)
{
    struct line line;
    struct clp_run_options o = run(&line, text);

    cr_expect_eq(o.target_kind, kind, "%s: %d", text, (int)o.target_kind);
    cr_expect_str_eq(o.target, target, "%s: %s", text, o.target);
    cr_expect_eq(o.program_argc, argc, "%s: %d", text, o.program_argc);
    cr_expect_eq(o.program_argv, line.argv + line.argc - argc, "%s", text);
    cr_expect_not(o.help);
}

Test(options, parsing_ends_at_the_program)
{
    check_target("s.py", CLP_TARGET_SCRIPT, "s.py", 1);
    check_target("-l s.py -h --foo -m x", CLP_TARGET_SCRIPT, "s.py", 5);
    check_target("-l -- s.py -h", CLP_TARGET_SCRIPT, "s.py", 2);
    check_target("-- -odd.py -- -h", CLP_TARGET_SCRIPT, "-odd.py", 3);
    check_target("-- -m x", CLP_TARGET_SCRIPT, "-m", 2);
    check_target("-m mod", CLP_TARGET_MODULE, "mod", 1);
    check_target("-l -m mod -h --foo", CLP_TARGET_MODULE, "mod", 3);
    check_target("-lm mod -h", CLP_TARGET_MODULE, "mod", 2);
    check_target("-lmmod -h", CLP_TARGET_MODULE, "mod", 2);
    check_target("-m mod -- x", CLP_TARGET_MODULE, "mod", 3);
    check_target("- x", CLP_TARGET_SCRIPT, "-", 2);
    check_target("'' x", CLP_TARGET_SCRIPT, "", 2);
    struct line line;
    cr_expect_eq(run(&line, "-l --").target_kind, CLP_TARGET_NONE);
}

Test(options, a_joined_target_leaves_argv_alone)
{
    struct line line;

    run(&line, "-lmmod x");
    cr_expect_str_eq(line.argv[1], "-lmmod");
}

Test(options, switches_take_a_word)
{
    static const char *const yes[] = {"1", "on", "true", "t", "yes", "y", "ON", "True", "yEs"};
    static const char *const no[] = {"0", "off", "false", "f", "no", "n", "OFF", "False", "nO"};
    struct line line;
    char text[64];

    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        snprintf(text, sizeof text, "--skip-zero=%s --memory=%s s.py", yes[i], no[i]);
        struct clp_run_options o = run(&line, text);
        cr_expect(o.skip_zero && o.no_memory, "%s", text);
        snprintf(text, sizeof text, "-z --skip-zero=%s --no-memory --memory=%s s.py", no[i],
                 yes[i]);
        o = run(&line, text);
        cr_expect(!o.skip_zero && !o.no_memory, "%s", text);
    }
    cr_expect_not(run(&line, "-z --no-skip-zero s.py").skip_zero);
    cr_expect(run(&line, "--no-skip-zero -z s.py").skip_zero);
    refuse("--skip-zero=maybe s.py", "option '--skip-zero' needs yes or no, not 'maybe'");
    refuse("--skip-zero= s.py", "option '--skip-zero' needs yes or no, not ''");
    refuse("--no-skip-zero=yes s.py", "option '--no-skip-zero' takes no value");
}

Test(options, a_switch_takes_no_next_word)
{
    check_target("--skip-zero no", CLP_TARGET_SCRIPT, "no", 1);
}

Test(options, unambiguous_beginnings)
{
    struct line line;

    cr_expect(run(&line, "--line s.py").line_by_line);
    cr_expect_eq(run(&line, "--vi s.py").view, 1);
    cr_expect_str_eq(run(&line, "--out=x s.py").outfile, "x");
    cr_expect(run(&line, "--no-m s.py").no_memory);
    cr_expect(run(&line, "--s s.py").skip_zero);
    cr_expect(run(&line, "--h").help);
    refuse("--v s.py", "option '--v' could be --view, --version");
    refuse("--no s.py",
           "option '--no' could be --no-line-by-line, --no-builtin, --no-skip-zero, --no-memory");
}

Test(options, unknown_options)
{
    refuse("--foo", "unknown option '--foo'");
    refuse("--foo=bar s.py", "unknown option '--foo'");
    refuse("--viev", "unknown option '--viev' (did you mean --view?)");
    refuse("--line_by_line s.py", "unknown option '--line_by_line' (did you mean --line-by-line?)");
    refuse("--no-memry", "unknown option '--no-memry' (did you mean --no-memory?)");
    refuse("--outfiles x", "unknown option '--outfiles' (did you mean --outfile?)");
    refuse("-x", "unknown option '-x'");
    refuse("-lx", "unknown option '-x'");
    refuse("-unit", "option '-u' needs a number above 0, such as 1e-3, not 'nit'");
    refuse("-tracer x", "unknown option '-tracer' (did you mean --tracer?)");
    refuse("--an-option-much-longer-than-any-that-could-ever-be-spelled-here",
           "unknown option '--an-option-much-longer-than-any-that-could-ever-be-spelled-here'");
}

Test(options, values_that_lack)
{
    refuse("-o", "option '-o' needs a FILE");
    refuse("-lo", "option '-o' needs a FILE");
    refuse("--outfile", "option '--outfile' needs a FILE");
    refuse("--outf=", "option '--outfile' needs a FILE");
    refuse("-o ''", "option '-o' needs a FILE");
    refuse("-o -l s.py", "option '-o' needs a FILE");
    refuse("-o -- s.py", "option '-o' needs a FILE");
    refuse("--tracer=", "option '--tracer' needs a NAME");
    refuse("-m", "option '-m' needs a MODULE");
    refuse("-m -l", "option '-m' needs a MODULE");
    refuse("-u", "option '-u' needs a UNIT");
    refuse("--view=2 s.py", "option '--view' takes no value");
    refuse("--help=x", "option '--help' takes no value");
    struct line line;
    cr_expect_str_eq(run(&line, "-o - s.py").outfile, "-");
    cr_expect_str_eq(run(&line, "--outfile=-x s.py").outfile, "-x");
}

Test(options, units_are_numbers_above_zero)
{
    static const char *const bad[] = {"0", "-1", "-0", "nan", "inf", "-inf", "1e999", "1e-999",
                                      "x", "1x", "1,5", "1e", "--", "1e-3s"};
    char text[64], message[128];
    struct line line;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, "-u %s s.py", bad[i]);
        snprintf(message, sizeof message,
                 "option '-u' needs a number above 0, such as 1e-3, not '%s'", bad[i]);
        refuse(text, message);
    }
    cr_expect_eq(run(&line, "-u .5 s.py").unit, 0.5);
    cr_expect_eq(run(&line, "--unit=1e+3 s.py").unit, 1000);
}

Test(options, help_and_version_answer_at_once)
{
    struct line line;

    cr_expect(run(&line, "-h --foo").help);
    cr_expect(run(&line, "-lhx").help);
    cr_expect(run(&line, "--version --foo").version);
    cr_expect(run(&line, "-V").version);
    cr_expect_eq(run(&line, "-h s.py").target_kind, CLP_TARGET_NONE);
    cr_expect(view(&line, "-V --foo").version);
    cr_expect(view(&line, "a --help --foo").help);
}

Test(options, viewer)
{
    struct line line;
    struct clp_view_options o = view(&line, "");

    cr_expect(!o.skip_zero && !o.sort && !o.summarize && !o.no_memory && !o.raw_times);
    cr_expect(o.unit == 1e-6 && o.file_count == 0 && !o.help && !o.version);
    o = view(&line, "-ztm -u 1 --no-memory --raw-times a.lprof b.lprof");
    cr_expect(o.skip_zero && o.sort && o.summarize && o.no_memory && o.raw_times && o.unit == 1);
    cr_expect_eq(o.file_count, 2);
    cr_expect_str_eq(o.files[0], "a.lprof");
    cr_expect_str_eq(o.files[1], "b.lprof");
    cr_expect(view(&line, "--sort --summarize a").summarize);
}

Test(options, viewer_takes_options_between_files)
{
    static const char *const names[] = {"a", "-b", "-t", "--", "c"};
    struct line line;
    struct clp_view_options o = view(&line, "a -t -u 1 b --summ c -- -t -- d");

    cr_expect(o.sort && o.summarize && o.unit == 1);
    cr_assert_eq(o.file_count, 6);
    static const char *const files[] = {"a", "b", "c", "-t", "--", "d"};
    for (int i = 0; i < 6; i++)
        cr_expect_str_eq(o.files[i], files[i]);
    o = view(&line, "a -- -b -t -- c");
    cr_assert_eq(o.file_count, 5);
    for (int i = 0; i < 5; i++)
        cr_expect_str_eq(o.files[i], names[i]);
}

Test(options, viewer_keeps_every_element_of_argv)
{
    struct line line, before;

    cut(&before, "clineprof", "a -t -u 1 b -- c");
    view(&line, "a -t -u 1 b -- c");
    for (int i = 0; i < line.argc; i++) {
        int found = 0;
        for (int j = 0; j < line.argc; j++)
            found += line.argv[j] - line.text == before.argv[i] - before.text;
        cr_expect_eq(found, 1, "'%s' is there %d times", before.argv[i], found);
    }
}

static void check_help(const char *text, const char *usage)
{
    cr_expect_eq(strncmp(text, usage, strlen(usage)), 0, "%s", text);
    for (size_t bytes; *text != 0; text += bytes + 1) {
        bytes = strcspn(text, "\n");
        cr_expect_lt(bytes, 80, "%s", text);
        cr_expect_neq(bytes != 0 ? text[bytes - 1] : 'x', ' ', "%s", text);
    }
}

Test(options, help)
{
    struct line line;

    cut(&line, "x", "");
    clp_run_options_help("ckernprof", &line.out);
    const char *text = clp_buf_text(&line.out);
    check_help(text, "usage: ckernprof [options] script [args ...]\n"
                     "       ckernprof [options] -m module [args ...]\n\n");
    cr_expect_not_null(strstr(text, "\n  -l, --line-by-line  profile line by line"), "%s", text);
    cr_expect_not_null(strstr(text, "\n  -o, --outfile FILE  where"), "%s", text);
    cr_expect_not_null(strstr(text, "\n      --no-memory     do not"), "%s", text);
    cr_expect_not_null(strstr(text, "\n  -m MODULE           run a module"), "%s", text);
    clp_buf_clear(&line.out);
    clp_view_options_help("clineprof", &line.out);
    check_help(clp_buf_text(&line.out), "usage: clineprof [options] profile.lprof [profile.lprof");
    clp_buf_clear(&line.out);
}
