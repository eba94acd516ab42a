/* SPDX-License-Identifier: MIT */
/* Command lines are written as one text, cut at spaces ('' is an empty word), to be read at a
 * glance. */
#include "cli/options.h"
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
    clp_run_options_init(&options);
    cr_expect(clp_run_options_parse(line->argc, line->argv, &options, &line->out), "%s: %s", text,
              clp_buf_text(&line->out));
    cr_expect_eq(line->out.used, 0);
    return options;
}

static struct clp_view_options view(struct line *line, const char *text)
{
    struct clp_view_options options;

    cut(line, "clineprof", text);
    clp_view_options_init(&options);
    cr_expect(clp_view_options_parse(line->argc, line->argv, &options, &line->out), "%s: %s", text,
              clp_buf_text(&line->out));
    return options;
}

static void refuse(const char *text, const char *message)
{
    struct clp_run_options options;
    struct line line;

    cut(&line, "/usr/bin/ckernprof", text);
    clp_run_options_init(&options);
    cr_expect_not(clp_run_options_parse(line.argc, line.argv, &options, &line.out), "%s", text);
    char whole[512];
    snprintf(whole, sizeof whole, "%s; see ckernprof --help", message);
    cr_expect_str_eq(clp_buf_text(&line.out), whole, "%s: %s", text, clp_buf_text(&line.out));
    clp_run_options_clear(&options, &line.mem);
    clp_buf_clear(&line.out);
    cr_expect_eq(line.mem.bytes, 0, "%s", text);
}

static bool is_off(const struct clp_run_options *options)
{
    return options->memory != NULL && strcmp(options->memory, "off") == 0;
}

Test(options, defaults)
{
    struct line line;
    struct clp_run_options o = run(&line, "");

    cr_expect(!o.line_by_line && !o.builtin && !o.show.skip_zero && o.memory == NULL && o.verbosity == 0);
    cr_expect(!o.help && !o.version && !o.page && o.show.unit == CLP_UNIT_USUAL);
    cr_expect(!o.no_preimports && !o.prof_imports && !o.show.rich && !o.show.summarize && !o.no_config);
    cr_expect(o.prof_mod.items == NULL && o.include.items == NULL && o.exclude.items == NULL);
    cr_expect(o.setup == NULL && o.config == NULL && o.output_interval == 0);
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
    clp_run_options_init(&o);
    clp_view_options_init(&v);
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

    cr_expect(o.line_by_line && o.builtin && o.show.skip_zero && is_off(&o));
    cr_expect_eq(o.verbosity, 2);
    cr_expect_eq(o.show.unit, 1e-3);
    cr_expect_str_eq(o.outfile, "a.lprof");
    cr_expect_str_eq(o.tracer, "settrace");
    cr_expect_str_eq(o.python, "/bin/py");
    o = run(&line, "--line-by-line --builtin --view --skip-zero --unit 1 --outfile=a=b "
                   "--tracer=probe --memory rss --python=p s.py");
    cr_expect(o.line_by_line && o.builtin && o.show.skip_zero && !is_off(&o) && o.verbosity == 1);
    cr_expect_eq(o.show.unit, 1);
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

    cr_expect(o.line_by_line && o.show.skip_zero && o.verbosity == 2);
    cr_expect_str_eq(run(&line, "-lo out.lprof s.py").outfile, "out.lprof");
    cr_expect_str_eq(run(&line, "-loout.lprof s.py").outfile, "out.lprof");
    cr_expect_str_eq(run(&line, "-o=out.lprof s.py").outfile, "out.lprof");
    cr_expect_eq(run(&line, "-vu1e-9 s.py").show.unit, 1e-9);
    cr_expect_eq(run(&line, "-u=2 s.py").show.unit, 2);
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
    check_target("-c code -h x", CLP_TARGET_CODE, "code", 3);
    check_target("-lc code", CLP_TARGET_CODE, "code", 1);
    check_target("-lvccode -c", CLP_TARGET_CODE, "code", 2);
    check_target("- x", CLP_TARGET_STDIN, "-", 2);
    check_target("-l -- - -x", CLP_TARGET_STDIN, "-", 2);
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
        cr_expect(o.show.skip_zero && is_off(&o), "%s", text);
        snprintf(text, sizeof text, "-z --skip-zero=%s --no-memory --memory=%s s.py", no[i],
                 yes[i]);
        o = run(&line, text);
        cr_expect(!o.show.skip_zero && !is_off(&o), "%s", text);
    }
    cr_expect_not(run(&line, "-z --no-skip-zero s.py").show.skip_zero);
    cr_expect(run(&line, "--no-skip-zero -z s.py").show.skip_zero);
    refuse("--skip-zero=maybe s.py", "option '--skip-zero' needs yes or no, not 'maybe'");
    refuse("--skip-zero= s.py", "option '--skip-zero' needs yes or no, not ''");
    refuse("--no-skip-zero=yes s.py", "option '--no-skip-zero' takes no value");
}

Test(options, a_switch_takes_no_next_word)
{
    check_target("--skip-zero no", CLP_TARGET_SCRIPT, "no", 1);
}

Test(options, memory_takes_a_mode)
{
    struct line line;

    cr_expect_eq(run(&line, "s.py").memory, NULL);
    cr_expect_str_eq(run(&line, "--memory off s.py").memory, "off");
    cr_expect_str_eq(run(&line, "--memory=no s.py").memory, "off");
    cr_expect_str_eq(run(&line, "--memory uss --no-memory s.py").memory, "off");
    cr_expect_str_eq(run(&line, "--no-memory --memory rss s.py").memory, "rss");
    cr_expect_str_eq(run(&line, "--no-memory --memory=Yes s.py").memory, "rss");
    cr_expect_str_eq(run(&line, "--memory=anon s.py").memory, "anon");
    cr_expect_str_eq(run(&line, "--memory pss s.py").memory, "pss");
    refuse("--memory s.py", "option '--memory' needs off, rss, anon, uss, pss or tree, not 's.py'");
    refuse("--no-memory=rss", "option '--no-memory' takes no value");
}

Test(options, precision_has_an_end)
{
    struct line line;

    cr_expect_eq(run(&line, "s.py").show.precision, 3);
    cr_expect(run(&line, "--mp --precision 0 s.py").show.mp);
    cr_expect_eq(run(&line, "--mp --precision=0 s.py").show.precision, 0);
    cr_expect_eq(view(&line, "--precision 9 a.lprof").show.precision, 9);
    refuse("--precision 10 s.py", "option '--precision' needs 9 at most, not '10'");
    refuse("--precision few s.py", "option '--precision' needs a whole number such as 10, not 'few'");
}

Test(options, quiet_counts_down)
{
    struct line line;

    cr_expect_eq(run(&line, "-q s.py").verbosity, -1);
    cr_expect_eq(run(&line, "-qqq s.py").verbosity, -3);
    cr_expect_eq(run(&line, "-vqvv --quiet --verbose --view s.py").verbosity, 3);
}

static void check_period(const char *text, double seconds, const char *target)
{
    struct line line;
    struct clp_run_options o = run(&line, text);

    cr_expect_eq(o.output_interval, seconds, "%s: %g", text, o.output_interval);
    cr_expect_str_eq(o.target, target, "%s", text);
}

Test(options, period)
{
    check_period("-i s.py", 1, "s.py");
    check_period("-li s.py", 1, "s.py");
    check_period("-i2 s.py", 2, "s.py");
    check_period("-i=2.5 s.py", 2.5, "s.py");
    check_period("-i 2 s.py", 2, "s.py");
    check_period("-li .5 s.py", .5, "s.py");
    check_period("--output-interval s.py", 1, "s.py");
    check_period("--output-interval=2 s.py", 2, "s.py");
    check_period("--output-interval 2 s.py", 2, "s.py");
    check_period("-i -- 2", 1, "2");
    check_period("-i -i0 s.py", 0, "s.py");
    check_period("-ivl s.py", 1, "s.py");
    struct line line;
    cr_expect_eq(run(&line, "-ivl s.py").verbosity, 1);
    cr_expect_eq(run(&line, "--timeline s.py").timeline, 0.01);
    cr_expect_eq(run(&line, "--timeline .5 -C s.py").timeline, .5);
    cr_expect(run(&line, "--timeline .5 -C s.py").include_children);
    cr_expect_eq(run(&line, "--pdb-mmem 1.5 s.py").pdb_mmem, 1.5);
    cr_expect(run(&line, "s.py").timeline == 0 && run(&line, "s.py").pdb_mmem == 0);
    refuse("--timeline=-1 s.py",
           "option '--timeline' needs a number of seconds, 0 or more, not '-1'");
    refuse("--pdb-mmem 0 s.py", "option '--pdb-mmem' needs a number above 0, such as 1e-3, not '0'");
    refuse("-i2x s.py", "option '-i' needs a number of seconds, 0 or more, not '2x'");
    refuse("-i=-1 s.py", "option '-i' needs a number of seconds, 0 or more, not '-1'");
    refuse("--output-interval= s.py",
           "option '--output-interval' needs a number of seconds, 0 or more, not ''");
}

static void check_targets(const char *text, const char *const *wanted)
{
    struct line line;
    struct clp_run_options o = run(&line, text);
    size_t i = 0;

    for (; wanted[i] != NULL; i++) {
        cr_assert_lt(i, o.prof_mod.count, "%s", text);
        cr_expect_str_eq(o.prof_mod.items[i], wanted[i], "%s", text);
    }
    cr_expect_eq(o.prof_mod.count, i, "%s", text);
    cr_expect(i == 0 ? o.prof_mod.items == NULL : o.prof_mod.items[i] == NULL, "%s", text);
    clp_run_options_clear(&o, &line.mem);
    cr_expect_eq(line.mem.bytes, 0);
}

#define TEXTS(...) ((const char *const[]){__VA_ARGS__ NULL})

Test(options, targets_of_selection)
{
    check_targets("-p a s.py", TEXTS("a", ));
    check_targets("-pa,b.c -l -p d --prof-mod=e,,f, s.py", TEXTS("a", "b.c", "d", "e", "f", ));
    check_targets("-p a -p '' s.py", TEXTS());
    check_targets("-p a,b --prof-mod= -p c s.py", TEXTS("c", ));
    check_targets("-p , s.py", TEXTS());
}

Test(options, patterns_keep_their_commas)
{
    struct line line;
    struct clp_run_options o = run(&line, "--include a,b --include c --exclude=*x s.py");

    cr_assert(o.include.count == 2 && o.exclude.count == 1);
    cr_expect_str_eq(o.include.items[0], "a,b");
    cr_expect_str_eq(o.include.items[1], "c");
    cr_expect_str_eq(o.exclude.items[0], "*x");
    clp_run_options_clear(&o, &line.mem);
    cr_expect_eq(line.mem.bytes, 0);
}

Test(options, the_rest_of_them)
{
    struct line line;
    struct clp_run_options o = run(&line, "-s set.py --no-preimports --prof-imports -r --summarize "
                                          "--config a.toml --no-config s.py");

    cr_expect_str_eq(o.setup, "set.py");
    cr_expect(o.no_preimports && o.prof_imports && o.show.rich && o.show.summarize && o.no_config);
    cr_expect_str_eq(o.config, "a.toml");
    cr_expect_not(run(&line, "--no-preimports --preimports=yes s.py").no_preimports);
    refuse("--no-config=x", "option '--no-config' takes no value");
    refuse("--no-no-config", "unknown option '--no-no-config'");
}

/* What is set and has no effect without -l; `gates`: of that, what the exit status answers. */
static void check_for_lines(const char *text, const char *all, const char *gates)
{
    struct line line;
    struct clp_run_options o = run(&line, text);

    clp_run_options_add_for_lines(&o, false, &line.out);
    cr_expect_str_eq(clp_buf_text(&line.out), all, "%s", text);
    clp_buf_clear(&line.out);
    clp_run_options_add_for_lines(&o, true, &line.out);
    cr_expect_str_eq(clp_buf_text(&line.out), gates, "%s", text);
    clp_buf_clear(&line.out);
    clp_run_options_clear(&o, &line.mem);
}

Test(options, what_is_for_lines)
{
    check_for_lines("-b -s a -o b -vvq --only-ranks 1 --no-config --python c s.py", "", "");
    check_for_lines("--no-cpu --timeline 0 --top 0 -p a -p '' --no-fail-on-leak --preimports s.py", "", "");
    check_for_lines("--fail-on-leak --no-memory -p a -u 1e-3 --top 2 s.py", " -p -u --top --memory --fail-on-leak",
                    " --fail-on-leak");
    check_for_lines("--no-gc --no-preimports --heap-interval 1 -C s.py", " --no-preimports --gc -C --heap-interval", "");
}

/* ---- config files ---- */

static bool set(struct clp_run_options *o, struct clp_buf *error, const char *key,
                enum clp_setting_type type, const char *value)
{
    struct clp_setting setting = {.key = key, .type = type, .value = value};

    return clp_option_set(clp_run_options_table(), &setting, o, "ckernprof", error);
}

Test(options, settings)
{
    struct line line;
    struct clp_run_options o;

    cut(&line, "x", "");
    clp_run_options_init(&o);
    cr_expect(set(&o, &line.out, "line-by-line", CLP_SETTING_BOOL, "true"));
    cr_expect(set(&o, &line.out, "skip_zero", CLP_SETTING_BOOL, "yes"));
    cr_expect(set(&o, &line.out, "preimports", CLP_SETTING_BOOL, "false"));
    cr_expect(set(&o, &line.out, "memory", CLP_SETTING_TEXT, "off"));
    cr_expect(set(&o, &line.out, "unit", CLP_SETTING_TEXT, "ms"));
    cr_expect_eq(o.show.unit, 1e-3);
    cr_expect(set(&o, &line.out, "unit", CLP_SETTING_WHOLE, "1"));
    cr_expect(set(&o, &line.out, "output_interval", CLP_SETTING_NUMBER, "2.5"));
    cr_expect(set(&o, &line.out, "outfile", CLP_SETTING_TEXT, "x"));
    cr_expect(set(&o, &line.out, "setup", CLP_SETTING_TEXT, ""));
    cr_expect(set(&o, &line.out, "verbose", CLP_SETTING_WHOLE, "3"));
    cr_expect(set(&o, &line.out, "quiet", CLP_SETTING_BOOL, "true"));
    cr_expect(set(&o, &line.out, "prof-mod", CLP_SETTING_TEXT, "a,b"));
    cr_expect_str_empty(clp_buf_text(&line.out));
    cr_expect(o.line_by_line && o.show.skip_zero && o.no_preimports && is_off(&o) && o.show.unit == 1);
    cr_expect(o.output_interval == 2.5 && o.verbosity == 2 && o.setup == NULL);
    cr_expect_eq(o.prof_mod.count, 2);
    cr_expect_str_eq(o.outfile, "x");
    clp_run_options_clear(&o, &line.mem);
}

static void refuse_setting(const char *key, enum clp_setting_type type, const char *value,
                           const char *message)
{
    struct line line;
    struct clp_run_options o;

    cut(&line, "x", "");
    clp_run_options_init(&o);
    cr_expect_not(set(&o, &line.out, key, type, value), "%s", key);
    char whole[512];
    snprintf(whole, sizeof whole, "%s; see ckernprof --help", message);
    cr_expect_str_eq(clp_buf_text(&line.out), whole, "%s", clp_buf_text(&line.out));
    clp_buf_clear(&line.out);
}

Test(options, settings_that_are_wrong)
{
    refuse_setting("viev", CLP_SETTING_BOOL, "true", "unknown key 'viev' (did you mean view?)");
    refuse_setting("x", CLP_SETTING_BOOL, "true", "unknown key 'x'");
    refuse_setting("no-rich", CLP_SETTING_BOOL, "true", "unknown key 'no-rich' (did you mean rich = false?)");
    refuse_setting("help-page", CLP_SETTING_BOOL, "true", "unknown key 'help-page'");
    refuse_setting("python", CLP_SETTING_TEXT, "x",
                   "key 'python' can only be an option on the command line");
    refuse_setting("rich", CLP_SETTING_TEXT, "x", "key 'rich' needs true or false, not 'x'");
    refuse_setting("top", CLP_SETTING_TEXT, "s", "key 'top' needs a whole number, not 's'");
    refuse_setting("unit", CLP_SETTING_TEXT, "x", "key 'unit' needs " CLP_UNIT_WORDS ", not 'x'");
    refuse_setting("unit", CLP_SETTING_WHOLE, "0",
                   "key 'unit' needs " CLP_UNIT_WORDS ", not '0'");
    refuse_setting("view", CLP_SETTING_NUMBER, "1.5", "key 'view' needs a whole number, not '1.5'");
    refuse_setting("view", CLP_SETTING_WHOLE, "99", "key 'view' needs a small number, not '99'");
    refuse_setting("memory", CLP_SETTING_TEXT, "most",
                   "key 'memory' needs off, rss, anon, uss, pss or tree, not 'most'");
    refuse_setting("outfile", CLP_SETTING_BOOL, "true",
                   "key 'outfile' needs a text in quotes, not 'true'");
    refuse_setting("prof_mod", CLP_SETTING_WHOLE, "1",
                   "key 'prof_mod' needs texts in quotes, not '1'");
}

Test(options, unambiguous_beginnings)
{
    struct line line;

    cr_expect(run(&line, "--line s.py").line_by_line);
    cr_expect_eq(run(&line, "--vi s.py").verbosity, 1);
    cr_expect_str_eq(run(&line, "--outf=x s.py").outfile, "x");
    cr_expect_str_eq(run(&line, "--no-me s.py").memory, "off");
    cr_expect(run(&line, "--sk s.py").show.skip_zero);
    cr_expect(run(&line, "--hel").help);
    refuse("--ve s.py", "option '--ve' could be --verbose, --version");
    refuse("--no-pr s.py", "option '--no-pr' could be --no-preimports, --no-prof-imports, "
                           "--no-prof-child-procs");
    refuse("--help-pag", "unknown option '--help-pag'");
}

Test(options, unknown_options)
{
    refuse("--xyzzy", "unknown option '--xyzzy'");
    refuse("--xyzzy=bar s.py", "unknown option '--xyzzy'");
    refuse("--viev", "unknown option '--viev' (did you mean --view?)");
    refuse("--line_by_line s.py", "unknown option '--line_by_line' (did you mean --line-by-line?)");
    refuse("--no-memry", "unknown option '--no-memry' (did you mean --no-memory?)");
    refuse("--outfiles x", "unknown option '--outfiles' (did you mean --outfile?)");
    refuse("-x", "unknown option '-x'");
    refuse("-lx", "unknown option '-x'");
    refuse("-unit", "option '-u' needs " CLP_UNIT_WORDS ", not 'nit'");
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
    refuse("-c", "option '-c' needs a CODE");
    refuse("-s", "option '-s' needs a FILE");
    refuse("-p", "option '-p' needs a TARGET");
    refuse("--memory", "option '--memory' needs a MODE");
    refuse("--include ''", "option '--include' needs a PATTERN");
    refuse("-u", "option '-u' needs a number");
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
                 "option '-u' needs " CLP_UNIT_WORDS ", not '%s'", bad[i]);
        refuse(text, message);
    }
    cr_expect_eq(run(&line, "-u .5 s.py").show.unit, 0.5);
    cr_expect_eq(run(&line, "--unit=1e+3 s.py").show.unit, 1000);
    cr_expect_eq(run(&line, "-u s s.py").show.unit, 1);
    cr_expect_eq(run(&line, "-ums s.py").show.unit, 1e-3);
    cr_expect_float_eq(run(&line, "-u=us s.py").show.unit, 1e-6, 1e-18);
    cr_expect_eq(run(&line, "--unit ns s.py").show.unit, 1e-9);
    cr_expect_eq(run(&line, "--unit auto s.py").show.unit, CLP_UNIT_AUTO);
    cr_expect_eq(run(&line, "s.py").show.unit, CLP_UNIT_USUAL);
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

    cr_expect(!o.show.skip_zero && !o.sort && !o.show.summarize && !o.no_memory && !o.raw_times);
    cr_expect(o.show.unit == CLP_UNIT_USUAL && o.file_count == 0 && !o.help && !o.version);
    o = view(&line, "-ztm -u 1 --no-memory --raw-times a.lprof b.lprof");
    cr_expect(o.show.skip_zero && o.sort && o.show.summarize && o.no_memory && o.raw_times && o.show.unit == 1);
    cr_expect_eq(o.file_count, 2);
    cr_expect_str_eq(o.files[0], "a.lprof");
    cr_expect_str_eq(o.files[1], "b.lprof");
    cr_expect(view(&line, "--sort --summarize a").show.summarize);
}

Test(options, viewer_takes_options_between_files)
{
    static const char *const names[] = {"a", "-b", "-t", "--", "c"};
    struct line line;
    struct clp_view_options o = view(&line, "a -t -u 1 b --summ c -- -t -- d");

    cr_expect(o.sort && o.show.summarize && o.show.unit == 1);
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

Test(options, page)
{
    struct line line;

    cut(&line, "x", "");
    clp_run_options_page("ckernprof", &line.out);
    const char *text = clp_buf_text(&line.out);
    cr_expect_not_null(strstr(text, "\n| `-v`, `--view`, `--verbose` |  | print"), "%s", text);
    cr_expect_not_null(strstr(text, "\n| `-u UNIT`, `--unit UNIT` | `auto or 1e-6` | s, ms"), "%s", text);
    cr_expect_not_null(strstr(text, "\n| `--no-preimports`, `--preimports` | `no` | do"), "%s", text);
    clp_buf_clear(&line.out);
}

Test(options, help)
{
    struct line line;

    cut(&line, "x", "");
    clp_run_options_help("ckernprof", &line.out);
    const char *text = clp_buf_text(&line.out);
    check_help(text, "usage: ckernprof [options] script [args ...]\n"
                     "       ckernprof [options] -m module [args ...]\n"
                     "       ckernprof [options] -c code [args ...]\n"
                     "       ckernprof [options] - [args ...]\n\n");
    cr_expect_null(strstr(text, "help-page"));
    cr_expect_not_null(strstr(text, "\n  -l, --line-by-line         profile line by line"), "%s", text);
    cr_expect_not_null(strstr(text, "\n  -o, --outfile FILE         write to FILE"), "%s", text);
    cr_expect_not_null(strstr(text, "\n      --no-preimports        do not"), "%s", text);
    cr_expect_not_null(strstr(text, "\n  -m MODULE                  run a module"), "%s", text);
    clp_buf_clear(&line.out);
    clp_view_options_help("clineprof", &line.out);
    check_help(clp_buf_text(&line.out), "usage: clineprof [options] profile.lprof [profile.lprof");
    clp_buf_clear(&line.out);
}
