/* SPDX-License-Identifier: MIT */
/* One table per command. A row says how an option is spelled, what follows it, what --help says of
 * it and which field of the result it sets; option.c works for any row. */
#include "options.h"
#include <string.h>

#define RUN(field) offsetof(struct clp_run_options, field)
#define VIEW(field) offsetof(struct clp_view_options, field)

/* ---- what both show ---- */

static bool check_columns(const char *value, struct clp_buf *fault)
{
    struct clp_report_options report = clp_report_defaults();
    size_t bytes;
    const char *bad = clp_report_set_columns(&report, value, &bytes);

    if (bad == NULL)
        return true;
    if (*bad == 0 && bytes != 0) {
        clp_buf_add_format(fault, "takes at most %d columns", CLP_REPORT_MAX_COLUMNS);
        return false;
    }
    clp_buf_add_text(fault, "needs some of ");
    clp_report_add_columns(fault);
    clp_buf_add_format(fault, ", not '%.*s'", (int)bytes, bad);
    return false;
}

static bool check_order(const char *value, struct clp_buf *fault)
{
    if (clp_report_order_named(value) != CLP_REPORT_ORDERS)
        return true;
    clp_buf_add_format(fault, "needs order, time, self, mem, increment, hits or name, not '%s'",
                       value);
    return false;
}

/* "text" is made by core/report.h, "lprof" by core/wire.h, the others by src/clineprof/_formats. */
static const char *const formats[] = {
    "text", "html", "json", "csv", "speedscope", "collapsed", "pstats", "pclprof", "cpuprofile",
    "heapprofile", "trace", "github", "line_profiler", "lprof",
};

static bool check_format(const char *value, struct clp_buf *fault)
{
    size_t count = sizeof formats / sizeof *formats;

    for (size_t i = 0; i < count; i++)
        if (strcmp(value, formats[i]) == 0)
            return true;
    clp_buf_add_text(fault, "needs ");
    for (size_t i = 0; i < count; i++)
        clp_buf_add_format(fault, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " or ", formats[i]);
    clp_buf_add_format(fault, ", not '%s'", value);
    return false;
}

/* Which of them this interpreter has, it says itself. */
static bool check_tracer(const char *value, struct clp_buf *fault)
{
    static const char *const names[] = {"auto", "probe", "monitoring", "settrace"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(value, names[i]) == 0)
            return true;
    clp_buf_add_format(fault, "needs auto, probe, monitoring or settrace, not '%s'", value);
    return false;
}

void clp_report_options_set(struct clp_report_options *report, const char *columns, bool self,
                            const char *sort_by)
{
    size_t bytes;

    report->self = self;
    if (columns != NULL)
        (void)clp_report_set_columns(report, columns, &bytes);
    if (sort_by != NULL)
        report->order = clp_report_order_named(sort_by);
}

/* ---- the tables ---- */

static const struct clp_option run_rows[] = {
    {CLP_OPTION_SWITCH, 'l', "line-by-line", .field = RUN(line_by_line),
     .help = "profile line by line; implies -b"},
    {CLP_OPTION_SWITCH, 'b', "builtin", .field = RUN(builtin),
     .help = "put 'profile' among the builtins, to mark code"},
    {CLP_OPTION_TEXT, 's', "setup", .argument = "FILE", .standard = "", .field = RUN(setup),
     .help = "run FILE first, unprofiled"},
    {CLP_OPTION_LIST, 'p', "prof-mod", .argument = "TARGET", .standard = "", .split = true,
     .field = RUN(prof_mod),
     .help = "profile this file, module, class or function"},
    {CLP_OPTION_SWITCH, 0, "preimports", .inverted = true, .field = RUN(no_preimports),
     .help = "do not import the targets before the program runs"},
    {CLP_OPTION_SWITCH, 0, "prof-imports", .field = RUN(prof_imports),
     .help = "with the script in -p: all that it imports too"},
    {CLP_OPTION_LIST, 0, "include", .argument = "PATTERN", .standard = "", .field = RUN(include),
     .help = "select functions whose name or file matches"},
    {CLP_OPTION_LIST, 0, "exclude", .argument = "PATTERN", .standard = "", .field = RUN(exclude),
     .help = "leave out functions whose name or file matches"},
    {CLP_OPTION_TEXT, 'o', "outfile", .argument = "FILE", .standard = "<script>.lprof",
     .field = RUN(outfile), .help = "where the profile goes"},
    {CLP_OPTION_MORE, 'v', "view", "verbose", .field = RUN(verbosity), .standard = "",
     .help = "print the report at the end; twice: say more"},
    {CLP_OPTION_LESS, 'q', "quiet", .field = RUN(verbosity), .standard = "",
     .help = "no messages; twice: no stdout; thrice: no stderr"},
    {CLP_OPTION_SWITCH, 'r', "rich", .field = RUN(rich),
     .help = "print the report in colours, with rich"},
    {CLP_OPTION_NUMBER, 'u', "unit", .argument = "UNIT", .standard = "1e-6", .field = RUN(unit),
     .help = "unit of times, in seconds"},
    {CLP_OPTION_SWITCH, 'z', "skip-zero", .field = RUN(skip_zero),
     .help = "leave functions that never ran out of the report"},
    {CLP_OPTION_SWITCH, 0, "summarize", .field = RUN(summarize),
     .help = "a line per function at the end of the report"},
    {CLP_OPTION_SWITCH, 0, "by-statement", .field = RUN(by_statement),
     .help = "a statement over several lines counts as one line"},
    {CLP_OPTION_TEXT, 0, "columns", .argument = "LIST", .standard = "", .check = check_columns,
     .field = RUN(columns),
     .help = "columns of the report: hits,time,self,.."},
    {CLP_OPTION_SWITCH, 0, "self", .field = RUN(self),
     .help = "also show what is without selected callees"},
    {CLP_OPTION_TEXT, 0, "sort-by", .argument = "KEY", .standard = "order",
     .check = check_order, .field = RUN(sort_by),
     .help = "time, self, mem, hits, name, .."},
    {CLP_OPTION_PERIOD, 'i', "output-interval", .argument = "[N]", .standard = "0",
     .field = RUN(output_interval), .help = "save every N seconds; bare: 1"},
    {CLP_OPTION_TEXT, 0, "tracer", .argument = "NAME", .standard = "auto", .check = check_tracer,
     .field = RUN(tracer), .help = "auto, probe, monitoring, settrace"},
    {CLP_OPTION_MODE, 0, "memory", .argument = "MODE", .word = "rss", .standard = "rss",
     .inverted = true, .field = RUN(no_memory),
     .help = "what is read of memory: rss or off"},
    {CLP_OPTION_TEXT, 0, "config", .argument = "FILE", .standard = "", .never_in_file = true,
     .field = RUN(config), .help = "read defaults from this TOML file"},
    {CLP_OPTION_PLAIN, 0, "no-config", .never_in_file = true, .field = RUN(no_config),
     .help = "read no config file"},
    {CLP_OPTION_TEXT, 0, "python", .argument = "PATH", .standard = "", .never_in_file = true,
     .field = RUN(python), .help = "the interpreter that runs the program"},
    {CLP_OPTION_TARGET, 'm', .argument = "MODULE", .standard = "", .field = RUN(module),
     .help = "run a module, as python -m does; ends the options"},
    {CLP_OPTION_TARGET, 'c', .argument = "CODE", .standard = "", .field = RUN(code),
     .help = "run this text, as python -c does; ends the options"},
    {CLP_OPTION_ANSWER, 'V', "version", .never_in_file = true, .standard = "",
     .field = RUN(version), .help = "print the version"},
    {CLP_OPTION_ANSWER, 'h', "help", .never_in_file = true, .standard = "", .field = RUN(help),
     .help = "print this"},
    {CLP_OPTION_ANSWER, 0, "help-page", .field = RUN(page)},
};

static const struct clp_option view_rows[] = {
    {CLP_OPTION_NUMBER, 'u', "unit", .argument = "UNIT", .standard = "1e-6", .field = VIEW(unit),
     .help = "unit of the times, in seconds"},
    {CLP_OPTION_SWITCH, 'r', "rich", .field = VIEW(rich),
     .help = "in colours, with rich"},
    {CLP_OPTION_SWITCH, 'z', "skip-zero", .field = VIEW(skip_zero),
     .help = "leave functions that never ran out"},
    {CLP_OPTION_SWITCH, 't', "sort", .field = VIEW(sort),
     .help = "by ascending total time: the slowest stands last"},
    {CLP_OPTION_SWITCH, 'm', "summarize", .field = VIEW(summarize),
     .help = "a line per function at the end"},
    {CLP_OPTION_TEXT, 0, "columns", .argument = "LIST", .standard = "", .check = check_columns,
     .field = VIEW(columns),
     .help = "columns of the report: hits,time,self,.."},
    {CLP_OPTION_SWITCH, 0, "self", .field = VIEW(self),
     .help = "also show what is without selected callees"},
    {CLP_OPTION_TEXT, 0, "sort-by", .argument = "KEY", .standard = "order",
     .check = check_order, .field = VIEW(sort_by),
     .help = "time, self, mem, hits, name, .."},
    {CLP_OPTION_SWITCH, 0, "memory", .inverted = true, .field = VIEW(no_memory),
     .help = "leave the memory columns out"},
    {CLP_OPTION_SWITCH, 0, "raw-times", .field = VIEW(raw_times),
     .help = "times as the clock saw them, the profiler's cost left in"},
    {CLP_OPTION_SWITCH, 0, "read-sources", .never_in_file = true, .field = VIEW(read_sources),
     .help = "take text that a profile lacks from the files it names"},
    {CLP_OPTION_TEXT, 0, "format", "to", .argument = "NAME", .standard = "text",
     .check = check_format, .field = VIEW(format),
     .help = "html, json, csv, speedscope, .. (docs/formats.md)"},
    {CLP_OPTION_TEXT, 'o', "outfile", .argument = "FILE", .standard = "standard output",
     .never_in_file = true, .field = VIEW(outfile), .help = "where it goes"},
    {CLP_OPTION_TEXT, 'c', "config", .argument = "FILE", .standard = "", .never_in_file = true,
     .field = VIEW(config), .help = "read defaults from this TOML file"},
    {CLP_OPTION_PLAIN, 0, "no-config", .never_in_file = true, .field = VIEW(no_config),
     .help = "read no config file"},
    {CLP_OPTION_ANSWER, 'V', "version", .never_in_file = true, .standard = "",
     .field = VIEW(version), .help = "print the version"},
    {CLP_OPTION_ANSWER, 'h', "help", .never_in_file = true, .standard = "", .field = VIEW(help),
     .help = "print this"},
    {CLP_OPTION_ANSWER, 0, "help-page", .field = VIEW(page)},
};

#define TABLE(rows) ((struct clp_option_table){rows, sizeof(rows) / sizeof(rows)[0]})

struct clp_option_table clp_run_options_table(void)
{
    return TABLE(run_rows);
}

struct clp_option_table clp_view_options_table(void)
{
    return TABLE(view_rows);
}

/* ---- ckernprof ---- */

void clp_run_options_init(struct clp_run_options *options)
{
    *options = (struct clp_run_options){.unit = 1e-6};
}

void clp_run_options_clear(struct clp_run_options *options, struct clp_mem *mem)
{
    clp_text_list_clear(&options->prof_mod, mem);
    clp_text_list_clear(&options->include, mem);
    clp_text_list_clear(&options->exclude, mem);
}

static void find_target(struct clp_run_options *options, const char *word)
{
    if (options->module != NULL)
        options->target_kind = CLP_TARGET_MODULE;
    else if (options->code != NULL)
        options->target_kind = CLP_TARGET_CODE;
    else
        options->target_kind = strcmp(word, "-") == 0 ? CLP_TARGET_STDIN : CLP_TARGET_SCRIPT;
    options->target = options->module != NULL ? options->module
                      : options->code != NULL ? options->code
                                              : word;
}

bool clp_run_options_parse(int argc, char **argv, struct clp_run_options *options,
                           struct clp_buf *error)
{
    struct clp_option_parser parser =
        clp_option_start(clp_run_options_table(), argc, argv, options, error);

    if (!clp_option_parse(&parser))
        return false;
    options->builtin = options->builtin || options->line_by_line;
    if (options->help || options->version || options->page || parser.at >= argc)
        return true;
    find_target(options, argv[parser.at]);
    options->program_argv = argv + parser.at;
    options->program_argc = argc - parser.at;
    return true;
}

/* ---- the viewer ---- */

void clp_view_options_init(struct clp_view_options *options)
{
    *options = (struct clp_view_options){.unit = 1e-6, .format = "text"};
}

/* Moves a file's name behind those already found, by an exchange, so that every element of argv
 * stays there for whoever has to free it. */
static void keep_file(struct clp_option_parser *parser, struct clp_view_options *options)
{
    char **place = &parser->argv[1 + options->file_count++];
    char *file = parser->argv[parser->at];

    parser->argv[parser->at++] = *place;
    *place = file;
}

bool clp_view_options_parse(int argc, char **argv, struct clp_view_options *options,
                            struct clp_buf *error)
{
    struct clp_option_parser parser =
        clp_option_start(clp_view_options_table(), argc, argv, options, error);

    if (argc > 1)
        options->files = argv + 1;
    while (clp_option_parse(&parser)) {
        if (parser.at >= argc || options->help || options->version || options->page)
            return true;
        keep_file(&parser, options);
    }
    return false;
}

/* ---- help ---- */

static const char closing[] = "\nLong switches take =yes or =no and have a --no- form; "
                              "short ones can be joined.\n";

void clp_run_options_help(const char *program, struct clp_buf *out)
{
    clp_buf_add_format(out, "usage: %s [options] script [args ...]\n", program);
    clp_buf_add_format(out, "       %s [options] -m module [args ...]\n", program);
    clp_buf_add_format(out, "       %s [options] -c code [args ...]\n", program);
    clp_buf_add_format(out, "       %s [options] - [args ...]\n", program);
    clp_buf_add_text(out, "\nRuns a Python program and records the time and the memory of every "
                          "line (-l),\nor the time of every function (cProfile).\n\noptions:\n");
    clp_option_help(clp_run_options_table(), out);
    clp_buf_add_text(out, closing);
}

void clp_run_options_page(const char *program, struct clp_buf *out)
{
    (void)program;
    clp_option_page(clp_run_options_table(), out);
}

void clp_view_options_help(const char *program, struct clp_buf *out)
{
    clp_buf_add_format(out,
                       "usage: %s [options] profile.lprof [profile.lprof ...]\n"
                       "       %s top profile.lprof.live\n"
                       "       %s recover [-o OUTFILE] profile.lprof.live\n",
                       program, program, program);
    clp_buf_add_text(out, "\nPrints the report of a profile, or of several, summed. A .live file is one of a\n"
                          "run that was killed or still goes on.\n\noptions:\n");
    clp_option_help(clp_view_options_table(), out);
    clp_buf_add_text(out, closing);
}

void clp_view_options_page(const char *program, struct clp_buf *out)
{
    (void)program;
    clp_option_page(clp_view_options_table(), out);
}
