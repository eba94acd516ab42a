/* SPDX-License-Identifier: MIT */
/* The table of each command. A row says how an option is spelled, which value it takes, how --help describes it and
 * which field of the result it sets. option.c reads any table. */
#include "options.h"
#include "engine/tallies.h"
#include "heap/epochs.h"
#include "option_help.h"
#include "option_value.h"
#include "os/proc.h"
#include "base/version.h"
#include "base/words.h"
#include <stdlib.h>
#include <string.h>

#define HEAP_INTERVAL 65536

#define RUN(field) offsetof(struct clp_run_options, field)
#define VIEW(field) offsetof(struct clp_view_options, field)

/* ---- checks of values, and options about the report ---- */

static bool check_columns(const char *value, struct clp_buf *fault)
{
    struct clp_columns columns;
    size_t bytes;
    const char *bad = clp_columns_parse(&columns, value, &bytes);

    if (bad == NULL)
        return true;
    if (*bad == 0 && bytes != 0) {
        clp_buf_add_format(fault, "takes at most %d columns", CLP_COLUMNS_MOST);
        return false;
    }
    struct clp_buf names;
    clp_buf_init(&names, fault->mem);
    clp_columns_add_names(&names);
    clp_words_refuse(fault, "some of ", clp_buf_text(&names), bad, bytes);
    clp_buf_clear(&names);
    return false;
}

/* Suggests the most similar name for the first name in `value` that no column has. False when there is none. */
static bool suggest_column(struct clp_buf *fault, const char *columns, const char *value)
{
    const char *near;
    size_t bytes, near_bytes;

    for (; *value != 0; value += strcspn(value, ","), value += *value == ',') {
        bytes = strcspn(value, "=,");
        if (clp_words_have(columns, value, bytes))
            continue;
        near_bytes = clp_words_nearest(columns, value, bytes, &near);
        if (near_bytes != 0)
            clp_words_refuse(fault, "", columns, value, bytes);
        return near_bytes != 0;
    }
    return false;
}

static bool check_widths(const char *value, struct clp_buf *fault)
{
    struct clp_widths widths;
    struct clp_buf names;

    if (clp_widths_parse(&widths, value))
        return true;
    clp_buf_init(&names, fault->mem);
    clp_buf_add_text(&names, "line,");
    clp_columns_add_names(&names);
    if (!suggest_column(fault, clp_buf_text(&names), value))
        clp_buf_add_format(fault, "needs NAME=N,.. with a NAME of %s and an N from 1 to %d, not '%s'",
                           clp_buf_text(&names), CLP_WIDTH_MOST, value);
    clp_buf_clear(&names);
    return false;
}

#define KEY(field, type, merge, kind, needs, page, width, name, title, about) name ", "
static const char sort_keys[] = CLP_MEASURE_TABLE(KEY, KEY) "order or name";
#undef KEY

bool clp_options_bytes(const char *text, int64_t *bytes)
{
    static const char units[] = "kMGT";
    char *end;
    double number = strtod(text, &end);

    if (end == text || !(number >= 0))
        return false;
    const char *unit = *end != 0 ? strchr(units, *end == 'K' ? 'k' : *end) : NULL;
    if (unit != NULL) {
        number *= (double)((int64_t)1 << (10 * (unit - units + 1)));
        end += 1 + (strcmp(end + 1, "iB") == 0 ? 2 : 0);
    }
    if (*end != 0 || number > 9e18)
        return false;
    *bytes = (int64_t)number;
    return true;
}

static bool check_bytes(const char *value, struct clp_buf *fault)
{
    int64_t bytes;

    if (clp_options_bytes(value, &bytes))
        return true;
    clp_buf_add_format(fault, "needs a number of bytes, such as 4096, 100k or 1.5M, not '%s'", value);
    return false;
}

/* Checks what ends an epoch: "calls", "checkpoints", a number of seconds, or the name of a function. */
static bool check_epoch(const char *value, struct clp_buf *fault)
{
    double seconds;

    if (*value != 0 && (clp_epochs_kind_of(value, &seconds) != CLP_EPOCHS_SECONDS || (seconds > 0 && seconds < 1e9)))
        return true;
    clp_buf_add_format(fault, "needs calls, checkpoints, a number of seconds above 0 or the name of "
                              "a function, not '%s'", value);
    return false;
}

/* Checks numbers with commas between them. */
static bool check_ranks(const char *value, struct clp_buf *fault)
{
    size_t digits = strspn(value, "0123456789");

    if (digits != 0 && (value[digits] == 0 || (value[digits] == ',' && check_ranks(value + digits + 1, NULL))))
        return true;
    if (fault != NULL)
        clp_buf_add_format(fault, "needs numbers with commas between them, not '%s'", value);
    return false;
}

static bool check_counters(const char *value, struct clp_buf *fault)
{
    if (clp_tally_sources_named(value) != CLP_TALLY_SOURCE_UNKNOWN)
        return true;
    clp_buf_add_format(fault, "takes faults, switches and io, with commas between them, not '%s'", value);
    return false;
}

static bool check_precision(const char *value, struct clp_buf *fault)
{
    if (strtoul(value, NULL, 10) <= CLP_MEMORY_TABLE_MOST_DIGITS)
        return true;
    clp_buf_add_format(fault, "needs %d at most, not '%s'", CLP_MEMORY_TABLE_MOST_DIGITS, value);
    return false;
}

/* How functions or lines are sorted. The default is by time with --top, and by self time with --lines. */
static enum clp_choice_order order_of(const struct clp_show_options *show)
{
    if (show->sort_by != NULL)
        return clp_choice_order_named(show->sort_by);
    if (show->lines != 0)
        return CLP_CHOICE_BY_self;
    return show->top != 0 ? CLP_CHOICE_BY_time : CLP_CHOICE_BY_ORDER;
}

void clp_report_options_set(struct clp_report_options *report, const struct clp_show_options *show)
{
    size_t bytes;

    report->unit = show->unit;
    report->self = show->self;
    report->summarize = show->summarize;
    report->lines = show->lines;
    report->min_percent = show->min_percent;
    report->tables = show->by_file == NULL ? CLP_TABLES_USUAL : *show->by_file == 'y' ? CLP_TABLES_FILES
                                                                                     : CLP_TABLES_FUNCTIONS;
    report->gc = show->gc == NULL ? CLP_GC_USUAL : *show->gc == 'y' ? CLP_GC_APART : CLP_GC_WITHIN;
    report->choice = (struct clp_choice_options){
        .order = order_of(show),
        .skip_zero = show->skip_zero,
        .functions = show->functions.items,
        .files = show->files.items,
        .top = show->top,
    };
    if (show->columns != NULL)
        (void)clp_columns_parse(&report->columns, show->columns, &bytes);
    if (show->widths != NULL)
        (void)clp_widths_parse(&report->widths, show->widths);
    report->footer = show->top != 0 || show->lines != 0 || show->min_percent != 0 ||
                     show->functions.items != NULL || show->files.items != NULL;
}

bool clp_run_options_is_text(const struct clp_run_options *options)
{
    return options->target_kind == CLP_TARGET_CODE || options->target_kind == CLP_TARGET_STDIN;
}

bool clp_run_options_no_memory(const struct clp_run_options *options)
{
    return options->memory != NULL && clp_memory_named(options->memory) == CLP_MEMORY_OFF;
}

static bool is_named(const char *option, const char *name)
{
    return option != NULL && strcmp(option, name) == 0;
}

bool clp_run_options_light(const struct clp_run_options *options)
{
    return options->light || is_named(options->clock, "light") || is_named(options->tracer, "light");
}

bool clp_run_options_other_tracer(const struct clp_run_options *options)
{
    return options->tracer != NULL && !is_named(options->tracer, "auto") && !is_named(options->tracer, "light");
}

void clp_memory_table_options_set(struct clp_memory_table_options *table,
                                  const struct clp_show_options *show)
{
    struct clp_report_options report = clp_report_defaults();

    clp_report_options_set(&report, show);
    table->choice = report.choice;
    table->precision = show->precision;
}

static void clear_show(struct clp_show_options *show, struct clp_mem *mem)
{
    clp_text_list_clear(&show->functions, mem);
    clp_text_list_clear(&show->files, mem);
}

/* ---- the tables ---- */

#define SHOW(whole, part) offsetof(whole, show.part)
#define SHOW_ROWS(whole, letter_of_summarize) \
    {CLP_OPTION_NUMBER, 'u', "unit", .argument = "UNIT", .standard = "auto or 1e-6", \
     .one_of = CLP_UNIT_WORDS, .word_as_number = clp_unit_named, \
     .field = SHOW(whole, unit), .help = "s, ms, us, ns, 1e-3, .."}, \
    {CLP_OPTION_TEXT, 0, "color", "colour", .argument = "WHEN", .standard = "auto", \
     .one_of = CLP_OPTIONS_COLORS, .field = SHOW(whole, color), \
     .help = "colours: auto, always, never"}, \
    {CLP_OPTION_SWITCH, 'r', "rich", .field = SHOW(whole, rich), \
     .help = "as --color auto; say so if rich is missing"}, \
    {CLP_OPTION_SWITCH, 'z', "skip-zero", .field = SHOW(whole, skip_zero), \
     .help = "hide functions that never ran"}, \
    {CLP_OPTION_SWITCH, letter_of_summarize, "summarize", .field = SHOW(whole, summarize), \
     .help = "print a line per function at the end"}, \
    {CLP_OPTION_TEXT, 0, "columns", .argument = "LIST", .standard = "", .check = check_columns, \
     .field = SHOW(whole, columns), .help = "columns of the report: hits,time,self,.."}, \
    {CLP_OPTION_TEXT, 0, "widths", .argument = "LIST", .standard = "", .check = check_widths, \
     .field = SHOW(whole, widths), .help = "minimum widths of columns: line=8,time=14,.."}, \
    {CLP_OPTION_SWITCH, 0, "self", .field = SHOW(whole, self), \
     .help = "also show time without selected callees"}, \
    {CLP_OPTION_TEXT, 0, "sort-by", .argument = "KEY", .standard = "order", .one_of = sort_keys, \
     .field = SHOW(whole, sort_by), .help = "sort by time, self, mem, hits, .."}, \
    {CLP_OPTION_COUNT, 0, "top", .argument = "N", .standard = "all", .field = SHOW(whole, top), \
     .help = "show only the top N functions"}, \
    {CLP_OPTION_COUNT, 0, "lines", .argument = "N", .standard = "", .field = SHOW(whole, lines), \
     .help = "one table of the N hottest lines of all functions"}, \
    {CLP_OPTION_BARE, 0, "by-file", .word = "yes", .no_word = "no", .switches = true, .standard = "auto", \
     .one_of = "yes or no", .field = SHOW(whole, by_file), .help = "show whole files, each once"}, \
    {CLP_OPTION_BARE, 0, "gc", .word = "yes", .no_word = "no", .switches = true, .standard = "auto", \
     .one_of = "yes or no", .field = SHOW(whole, gc), .help = "show garbage collection apart"}, \
    {CLP_OPTION_LIST, 0, "function", .argument = "PATTERN", .standard = "", \
     .field = SHOW(whole, functions), .help = "show only functions whose name matches"}, \
    {CLP_OPTION_LIST, 0, "file", .argument = "PATTERN", .standard = "", \
     .field = SHOW(whole, files), .help = "show only files whose path or its end matches"}, \
    {CLP_OPTION_SHARE, 0, "min-percent", .argument = "P", .standard = "0", \
     .field = SHOW(whole, min_percent), .help = "hide rows below P % of their function"}, \
    {CLP_OPTION_SWITCH, 0, "mp", .field = SHOW(whole, mp), \
     .help = "print the report as memory_profiler does"}, \
    {CLP_OPTION_COUNT, 0, "precision", .argument = "N", .standard = "3", .check = check_precision, \
     .field = SHOW(whole, precision), .help = "digits after the point, with --mp"}

/* Which of them this interpreter has, it says itself. */
static const char tracers[] = "auto, probe, monitoring, settrace or light";

/* What --format takes. report/report.h makes "text", formats/lprof/wire.h makes "lprof", and src/clineprof/_formats the
 * others. */
static const char formats[] = "text, html, json, csv, md, flamegraph, speedscope, collapsed, pstats, pprof, firefox, "
                              "callgrind, pclprof, cpuprofile, heapprofile, trace, github, line_profiler or lprof";

static const struct clp_option run_rows[] = {
    {CLP_OPTION_SWITCH, 'l', "line-by-line", "line", .every_run = true, .field = RUN(line_by_line),
     .help = "profile line by line; implies -b"},
    {CLP_OPTION_SWITCH, 'b', "builtin", .every_run = true, .field = RUN(builtin),
     .help = "put 'profile' in the builtins, to mark code"},
    {CLP_OPTION_TEXT, 's', "setup", .argument = "FILE", .standard = "", .every_run = true, .field = RUN(setup),
     .help = "run FILE first, unprofiled"},
    {CLP_OPTION_LIST, 'p', "prof-mod", .argument = "TARGET", .standard = "", .split = true,
     .field = RUN(prof_mod),
     .help = "profile this file, module, class, function: a.py:f"},
    {CLP_OPTION_SWITCH, 0, "preimports", .inverted = true, .field = RUN(no_preimports),
     .help = "do not import the targets before the program runs"},
    {CLP_OPTION_SWITCH, 0, "prof-imports", .field = RUN(prof_imports),
     .help = "if -p names the script, profile its imports, too"},
    {CLP_OPTION_LIST, 0, "include", .argument = "PATTERN", .standard = "", .field = RUN(include),
     .help = "limit -p to functions whose name or file matches"},
    {CLP_OPTION_LIST, 0, "exclude", .argument = "PATTERN", .standard = "", .field = RUN(exclude),
     .help = "omit functions whose name or file matches from -p"},
    {CLP_OPTION_TEXT, 'o', "outfile", .argument = "FILE", .standard = "<script>.lprof",
     .every_run = true, .field = RUN(outfile), .help = "write to FILE; -: stdout"},
    {CLP_OPTION_MORE, 'v', "view", "verbose", .every_run = true, .field = RUN(verbosity), .standard = "",
     .help = "print the report at the end; -vv: more messages"},
    {CLP_OPTION_LESS, 'q', "quiet", .every_run = true, .field = RUN(verbosity), .standard = "",
     .help = "no messages; -qq: no stdout; -qqq: no stderr"},
    SHOW_ROWS(struct clp_run_options, 0),
    {CLP_OPTION_SWITCH, 0, "by-statement", .field = RUN(by_statement),
     .help = "count a statement over several lines as one line"},
    {CLP_OPTION_SWITCH, 0, "prof-child-procs", .field = RUN(child_processes),
     .help = "also profile processes that the program starts"},
    {CLP_OPTION_TEXT, 0, "only-ranks", .argument = "N,N,..", .standard = "", .check = check_ranks,
     .every_run = true, .field = RUN(only_ranks), .help = "profile only these ranks of mpirun, srun, .."},
    {CLP_OPTION_SWITCH, 0, "threads", .field = RUN(threads),
     .help = "print a table for each thread, by name"},
    {CLP_OPTION_PERIOD, 'i', "output-interval", .argument = "[N]", .standard = "0",
     .field = RUN(output_interval), .help = "save the profile every N s; no N: 1"},
    {CLP_OPTION_TEXT, 0, "tracer", .argument = "NAME", .standard = "auto", .one_of = tracers,
     .field = RUN(tracer), .help = "probe, monitoring, settrace, light"},
    {CLP_OPTION_SWITCH, 0, "light", .field = RUN(light),
     .help = "exact hits and sampled times, for long runs"},
    {CLP_OPTION_TEXT, 0, "clock", .argument = "NAME", .standard = "exact", .one_of = "exact or light",
     .field = RUN(clock), .help = "exact; light: the same as --light"},
    {CLP_OPTION_MODE, 0, "memory", .argument = "MODE", .word = "rss", .standard = "rss",
     .one_of = "off, rss, anon, uss, pss or tree", .field = RUN(memory),
     .help = "off, rss, anon; slow uss, pss, tree"},
    {CLP_OPTION_TEXT, 0, "source", .argument = "WHOSE", .standard = "functions",
     .one_of = "functions, files or none", .field = RUN(source),
     .help = "text: functions, files, none"},
    {CLP_OPTION_PERIOD, 0, "timeline", .argument = "[N]", .bare = 0.01, .standard = "0",
     .field = RUN(timeline), .help = "sample memory every N s; no N: 0.01"},
    {CLP_OPTION_SWITCH, 'C', "include-children", .field = RUN(include_children),
     .help = "with --timeline: record child processes, too"},
    {CLP_OPTION_NUMBER, 0, "pdb-mmem", .argument = "MIB", .standard = "", .field = RUN(pdb_mmem),
     .help = "stop in pdb when more than MIB are resident"},
    {CLP_OPTION_SWITCH, 0, "cpu", .field = RUN(cpu),
     .help = "split times into CPU and waiting"},
    {CLP_OPTION_SWITCH, 0, "native", .field = RUN(native),
     .help = "split times into C code, library and the rest"},
    {CLP_OPTION_SWITCH, 0, "nvtx", .field = RUN(nvtx),
     .help = "name functions for NVIDIA Nsight Systems"},
    {CLP_OPTION_SWITCH, 0, "torch-names", .field = RUN(torch_names),
     .help = "count blocks of PyTorch's record_function"},
    {CLP_OPTION_SWITCH, 0, "io", .field = RUN(io),
     .help = "count bytes read and written"},
    {CLP_OPTION_TEXT, 0, "counters", .argument = "LIST", .standard = "", .check = check_counters,
     .field = RUN(counters), .help = "count faults, switches, or both: faults,switches"},
    {CLP_OPTION_SWITCH, 0, "tensors", .field = RUN(tensors),
     .help = "count the memory of PyTorch's tensors"},
    {CLP_OPTION_SWITCH, 0, "cuda", .field = RUN(cuda),
     .help = "count kernels, copies and waiting of GPUs"},
    {CLP_OPTION_SWITCH, 0, "line-log", .field = RUN(line_log),
     .help = "log lines while torch.profiler runs"},
    {CLP_OPTION_BARE, 0, "heap", .argument = "[=native]", .word = "python",
     .switches = true, .one_of = "python or native", .field = RUN(heap),
     .help = "count live memory; native: that of C code, too"},
    {CLP_OPTION_NUMBER, 0, "heap-interval", .argument = "BYTES", .standard = "65536",
     .field = RUN(heap_interval), .help = "mean bytes per sample; 1: all"},
    {CLP_OPTION_BARE, 0, "leaks", .argument = "[=EPOCH]", .word = "calls", .standard = "",
     .check = check_epoch, .field = RUN(leaks),
     .help = "tell which lines leak (docs/memory.md)"},
    {CLP_OPTION_BARE, 0, "fail-on-leak", .argument = "[=SIZE]", .word = "", .standard = "",
     .check = check_bytes, .gate = true, .field = RUN(fail_on_leak),
     .help = "exit 3 if a line leaks (more than SIZE)"},
    {CLP_OPTION_TEXT, 0, "config", .argument = "FILE", .standard = "", .never_in_file = true,
     .every_run = true, .field = RUN(config), .help = "read defaults from this TOML file"},
    {CLP_OPTION_PLAIN, 0, "no-config", .never_in_file = true, .every_run = true, .field = RUN(no_config),
     .help = "read no config file"},
    {CLP_OPTION_TEXT, 0, "python", .argument = "PATH", .standard = "", .never_in_file = true,
     .every_run = true, .field = RUN(python), .help = "the interpreter that runs the program"},
    {CLP_OPTION_TARGET, 'm', .argument = "MODULE", .standard = "", .every_run = true, .field = RUN(module),
     .help = "run a module, as python -m does; ends the options"},
    {CLP_OPTION_TARGET, 'c', .argument = "CODE", .standard = "", .every_run = true, .field = RUN(code),
     .help = "run this text, as python -c does; ends the options"},
    {CLP_OPTION_ANSWER, 'V', "version", .never_in_file = true, .standard = "",
     .field = RUN(version), .help = "print the version"},
    {CLP_OPTION_ANSWER, 'h', "help", .never_in_file = true, .standard = "", .field = RUN(help),
     .help = "print this help"},
    {CLP_OPTION_ANSWER, 0, "help-page", .field = RUN(page)},
};

static const struct clp_option view_rows[] = {
    SHOW_ROWS(struct clp_view_options, 'm'),
    {CLP_OPTION_SWITCH, 't', "sort", .field = VIEW(sort),
     .help = "sort by total time, slowest last"},
    {CLP_OPTION_SWITCH, 0, "by-statement", .field = VIEW(by_statement),
     .help = "show a statement over several lines as one row"},
    {CLP_OPTION_SWITCH, 0, "memory", .inverted = true, .field = VIEW(no_memory),
     .help = "hide the memory columns"},
    {CLP_OPTION_SWITCH, 0, "processes", .field = VIEW(processes),
     .help = "also list the processes that took part"},
    {CLP_OPTION_SWITCH, 0, "ranks", .field = VIEW(ranks),
     .help = "also list the ranks that took part"},
    {CLP_OPTION_SWITCH, 0, "spread", .field = VIEW(spread),
     .help = "also show the lines that differ between processes"},
    {CLP_OPTION_TEXT, 0, "by", .argument = "WHAT", .standard = "", .one_of = "host, rank or process",
     .field = VIEW(by), .never_in_file = true, .help = "a report for each host, rank or process"},
    {CLP_OPTION_LIST, 0, "process", .argument = "PATTERN", .standard = "", .field = VIEW(process),
     .never_in_file = true, .help = "show only processes of this number or name"},
    {CLP_OPTION_SWITCH, 'v', "verbose", .field = VIEW(verbose),
     .help = "tell more of the measurement in the last line"},
    {CLP_OPTION_SWITCH, 0, "raw-times", .field = VIEW(raw_times),
     .help = "show times with the profiler's own cost left in"},
    {CLP_OPTION_SWITCH, 0, "read-sources", .never_in_file = true, .field = VIEW(read_sources),
     .help = "where source is missing, read it from its file"},
    {CLP_OPTION_TEXT, 0, "format", "to", .argument = "NAME", .standard = "text",
     .one_of = formats, .field = VIEW(format),
     .help = "html, json, csv, .. (docs/formats.md)"},
    {CLP_OPTION_TEXT, 'o', "outfile", .argument = "FILE", .standard = "standard output",
     .never_in_file = true, .field = VIEW(outfile), .help = "write to FILE"},
    {CLP_OPTION_TEXT, 'c', "config", .argument = "FILE", .standard = "", .never_in_file = true,
     .field = VIEW(config), .help = "read defaults from this TOML file"},
    {CLP_OPTION_PLAIN, 0, "no-config", .never_in_file = true, .field = VIEW(no_config),
     .help = "read no config file"},
    {CLP_OPTION_ANSWER, 'V', "version", .never_in_file = true, .standard = "",
     .field = VIEW(version), .help = "print the version"},
    {CLP_OPTION_ANSWER, 'h', "help", .never_in_file = true, .standard = "", .field = VIEW(help),
     .help = "print this help"},
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
    *options = (struct clp_run_options){
        .show = {.unit = CLP_UNIT_USUAL, .precision = CLP_MEMORY_TABLE_PRECISION},
        .heap_interval = HEAP_INTERVAL};
}

void clp_run_options_clear(struct clp_run_options *options, struct clp_mem *mem)
{
    clp_text_list_clear(&options->prof_mod, mem);
    clp_text_list_clear(&options->include, mem);
    clp_text_list_clear(&options->exclude, mem);
    clear_show(&options->show, mem);
}

void clp_run_options_add_for_lines(const struct clp_run_options *options, bool gates, struct clp_buf *out)
{
    struct clp_run_options defaults;

    clp_run_options_init(&defaults);
    for (size_t i = 0; i < sizeof run_rows / sizeof *run_rows; i++) {
        const struct clp_option *row = &run_rows[i];
        if (row->every_run || (gates && !row->gate) || clp_option_is_default(row, options, &defaults))
            continue;
        if (row->letter != 0)
            clp_buf_add_format(out, " -%c", row->letter);
        else
            clp_buf_add_format(out, " --%s%s", row->inverted ? "no-" : "", row->name);
    }
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

    parser.others = clp_view_options_table();
    parser.others_of = "clineprof, which shows profiles";
    if (!clp_option_parse(&parser))
        return false;
    options->builtin = options->builtin || options->line_by_line;
    if (parser.at >= argc)
        return true;
    find_target(options, argv[parser.at]);
    options->program_argv = argv + parser.at;
    options->program_argc = argc - parser.at;
    return true;
}

/* ---- the viewer ---- */

void clp_view_options_init(struct clp_view_options *options)
{
    *options = (struct clp_view_options){
        .show = {.unit = CLP_UNIT_USUAL, .precision = CLP_MEMORY_TABLE_PRECISION}, .format = "text"};
}

void clp_view_options_clear(struct clp_view_options *options, struct clp_mem *mem)
{
    clear_show(&options->show, mem);
    clp_text_list_clear(&options->process, mem);
}

bool clp_view_options_parse(int argc, char **argv, struct clp_view_options *options,
                            struct clp_buf *error)
{
    struct clp_option_parser parser =
        clp_option_start(clp_view_options_table(), argc, argv, options, error);

    parser.others = clp_run_options_table();
    parser.others_of = "ckernprof, which makes profiles";
    if (!clp_option_parse_all(&parser, &options->files, &options->file_count))
        return false;
    if (options->outfile != NULL && strcmp(options->outfile, "-") == 0)
        options->outfile = NULL;
    return true;
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

static const char *const view_usages[] = {
    "[options] profile.lprof [profile.lprof ...]",
    "diff old.lprof new.lprof",
    "ab old.py new.py",
    "callers FUNCTION profile.lprof ...",
    "merge [-o OUTFILE] profile.lprof ...",
    "top PID or profile.lprof.live",
    "attach [options] PID",
    "dump PID",
    "recover [-o OUTFILE] profile.lprof.live",
    "mem run|attach|plot|peak|list|rm|clean ..",
    "hook install|remove|status",
    "lsp [options]",
    "torch join [options] profile.lprof trace.json ..",
};

void clp_view_options_help(const char *program, struct clp_buf *out)
{
    for (size_t i = 0; i < sizeof view_usages / sizeof *view_usages; i++)
        clp_buf_add_format(out, "%s%s %s\n", i == 0 ? "usage: " : "       ", program, view_usages[i]);
    clp_buf_add_text(out, "\nPrints the report of a profile, or of the sum of several; - is standard input.\n"
                          "A .live file is the profile of a run that was killed or still goes on.\n\noptions:\n");
    clp_option_help(clp_view_options_table(), out);
    clp_buf_add_text(out, closing);
}

void clp_view_options_page(const char *program, struct clp_buf *out)
{
    (void)program;
    clp_option_page(clp_view_options_table(), out);
}

void clp_options_version(const char *program, struct clp_buf *out)
{
    (void)program; /* kernprof prints the number alone */
    clp_buf_add_text(out, CLP_VERSION "\n");
}
