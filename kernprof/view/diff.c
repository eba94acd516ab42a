/* SPDX-License-Identifier: MIT */
#include "diff.h"
#include "diff/diff_text.h"
#include "diff/significance.h"
#include "base/escape.h"
#include "diff_export.h"
#include "diff_result.h"
#include "report/table.h"
#include "report/unit.h"
#include "cli/command_line.h"
#include "cli/option.h"
#include "cli/options.h"
#include "bridge/paper.h"
#include "cli/progress.h"
#include "bridge/family_files.h"
#include "bridge/reading.h"
#include "merge.h"
#include "bridge/console.h"
#include "cli/overwrite.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char me[] = "clineprof";

/* ---- options ---- */

static bool check_measures(const char *value, struct clp_buf *fault)
{
    struct clp_measure_list measures;

    return clp_measure_list_read(&measures, value, fault);
}

static bool check_floor(const char *value, struct clp_buf *fault)
{
    struct clp_compare_options options = clp_compare_defaults();

    return clp_compare_set_floor(&options, value, fault);
}

static bool check_limits(const char *value, struct clp_buf *fault)
{
    struct clp_limits limits;

    return clp_limits_parse(&limits, value, fault);
}

static bool check_top(const char *value, struct clp_buf *fault)
{
    if (strtoul(value, NULL, 10) != 0)
        return true;
    clp_buf_add_format(fault, "needs a whole number above 0, not '%s'", value);
    return false;
}

#define FIELD(name) offsetof(struct clp_diff_request, name)

static const char formats[] = "text, json, html or github";

static const struct clp_option rows[] = {
    {CLP_OPTION_NUMBER, 'u', "unit", .argument = "UNIT", .standard = "auto or 1e-6", .one_of = CLP_UNIT_WORDS,
     .word_as_number = clp_unit_named, .field = FIELD(unit), .help = "s, ms, us, ns, 1e-3, .."},
    {CLP_OPTION_TEXT, 0, "measure", "columns", .argument = "LIST", .standard = "time,increment",
     .check = check_measures, .field = FIELD(measures),
     .help = "compare these besides hits: time,self,mem,.."},
    {CLP_OPTION_COUNT, 0, "top", .argument = "N", .standard = "", .check = check_top,
     .field = FIELD(top), .help = "show only the N functions that changed most"},
    {CLP_OPTION_TEXT, 0, "color", "colour", .argument = "WHEN", .standard = "auto",
     .one_of = CLP_OPTIONS_COLORS, .field = FIELD(color), .help = "colours: auto, always, never"},
    {CLP_OPTION_SWITCH, 0, "all", .field = FIELD(all),
     .help = "also show what did not change"},
    {CLP_OPTION_TEXT, 0, "fail-on", .argument = "LIMITS", .standard = "", .check = check_limits,
     .field = FIELD(fail_on), .help = "exit 3 on changes such as time>+20%,increment>+10MB,hits>+0"},
    {CLP_OPTION_TEXT, 0, "noise-floor", .argument = "LIST", .standard = "1ms,50ns/hit,64KiB",
     .check = check_floor, .field = FIELD(noise_floor), .help = "ignore changes below these"},
    {CLP_OPTION_SHARE, 0, "confidence", .argument = "P", .standard = "", .field = FIELD(confidence),
     .help = "ignore what may be chance in so many runs: 99.9"},
    {CLP_OPTION_SWITCH, 0, "renamed", .field = FIELD(renamed),
     .help = "match files of other names if one on each side is left"},
    {CLP_OPTION_TEXT, 0, "format", .argument = "NAME", .standard = "text",
     .one_of = formats, .field = FIELD(format),
     .help = "text, json, html, or github: annotations of a workflow"},
    {CLP_OPTION_TEXT, 'o', "outfile", .argument = "FILE", .standard = "", .field = FIELD(outfile),
     .help = "write to FILE instead of standard output"},
    CLP_COMMAND_HELP(FIELD(help)),
};

static const struct clp_command_line command_line = {
    "clineprof diff",
    "usage: clineprof diff [options] old.lprof new.lprof\n"
    "       clineprof diff [options] old.lprof ... -- new.lprof ...\n"
    "\n"
    "Prints what changed, function by function and line by line. Several files of a side\n"
    "are averaged. Exit status: 0 done; 1 a file cannot be read; 2 wrong usage; 3 a limit\n"
    "(--fail-on) is broken.\n",
    {rows, sizeof rows / sizeof *rows},
};

struct clp_option_table clp_diff_options_table(void)
{
    return command_line.table;
}

struct clp_diff_request clp_diff_defaults(void)
{
    return (struct clp_diff_request){.unit = CLP_UNIT_USUAL, .format = "text"};
}

/* Reads options and files. The first "--" ends the old files; options may still follow, until a second "--". *parted
 * tells whether there was a "--". False with one line in parser->error. */
static bool parse_words(struct clp_option_parser *parser, struct clp_diff_request *request,
                        bool *parted)
{
    size_t count = 0;

    *parted = false;
    while (clp_option_parse(parser)) {
        if (parser->ended && !*parted && !request->help) {
            *parted = true;
            request->counts[CLP_OLD] = count;
            parser->ended = false;
            continue;
        }
        if (parser->at >= parser->argc) {
            request->counts[CLP_NEW] = count - request->counts[CLP_OLD];
            return true;
        }
        request->files[count++] = parser->argv[parser->at++];
    }
    return false;
}

/* Decides which files are old and which are new. False with one line in `error`. */
static bool part_files(struct clp_diff_request *request, bool parted, struct clp_buf *error)
{
    size_t old_count = request->counts[CLP_OLD], new_count = request->counts[CLP_NEW];

    if (old_count == 0 && new_count == 2) { /* OLD NEW, or -- OLD NEW */
        request->counts[CLP_OLD] = request->counts[CLP_NEW] = 1;
        return true;
    }
    if (old_count != 0 && new_count != 0)
        return true;
    if (old_count + new_count < 2)
        clp_buf_add_text(error, "diff needs two profiles, an old and a new one");
    else if (!parted)
        clp_buf_add_text(error,
                         "which of the files are old, and which are new? Put -- between them");
    else
        clp_buf_add_format(error, "there is no %s profile on that side of --",
                           old_count == 0 ? "old" : "new");
    clp_buf_add_text(error, "; see clineprof diff --help");
    return false;
}

/* Has each side enough files for --confidence? False with one line in `error`. */
static bool has_enough_files(const struct clp_diff_request *request, struct clp_buf *error)
{
    size_t least = request->counts[request->counts[CLP_NEW] < request->counts[CLP_OLD] ? CLP_NEW : CLP_OLD];

    if (request->confidence == 0 || least >= CLP_SIGNIFICANCE_RUNS)
        return true;
    clp_buf_add_format(error, "--confidence needs %d profiles or more on each side of --; clineprof ab makes them",
                       CLP_SIGNIFICANCE_RUNS);
    return false;
}

bool clp_diff_check(struct clp_diff_request *request, struct clp_buf *error)
{
    if (request->confidence == 100) {
        clp_buf_add_text(error, "--confidence needs a percentage below 100; try 99.9");
        return false;
    }
    return request->fail_on == NULL || clp_limits_parse(&request->limits, request->fail_on, error);
}

static bool parse(int argc, char **argv, struct clp_diff_request *request, struct clp_buf *error)
{
    struct clp_option_parser parser = clp_option_start(command_line.table, argc, argv, request, error);
    bool parted;

    parser.program = command_line.program;
    request->file_room = (size_t)argc;
    request->files = clp_mem_alloc(error->mem, request->file_room, sizeof *request->files);
    if (request->files == NULL) {
        clp_buf_add_text(error, clp_status_text(CLP_NO_MEMORY));
        return false;
    }
    if (!parse_words(&parser, request, &parted))
        return false;
    return request->help || (part_files(request, parted, error) && has_enough_files(request, error) &&
                             clp_diff_check(request, error));
}

static struct clp_compare_options options_of(const struct clp_diff_request *request, struct clp_mem *mem)
{
    struct clp_compare_options options = clp_compare_defaults();
    struct clp_buf fault; /* stays empty: the values were checked when they were read */

    clp_buf_init(&fault, mem);
    if (request->measures != NULL)
        (void)clp_measure_list_read(&options.measures, request->measures, &fault);
    if (request->noise_floor != NULL)
        (void)clp_compare_set_floor(&options, request->noise_floor, &fault);
    clp_buf_clear(&fault);
    options.confidence = request->confidence / 100;
    options.renamed = request->renamed;
    for (size_t i = 0; i < request->limits.count; i++)
        options.limited[request->limits.items[i].measure] = true;
    return options;
}

/* ---- files ---- */

/* Is it the live file of the first of several processes? It stands for all of them, as in the viewer. */
static bool leads_family(const char *path, struct clp_mem *mem)
{
    struct clp_family_files family;

    clp_family_files_find(&family, path, mem);
    bool leads = clp_family_files_lead(&family, path);
    clp_family_files_clear(&family);
    return leads;
}

/* Reads one file. False after one line of complaint, or where a part of the file was left out that a limit may be about. */
static bool read_file(struct clp_diff *diff, char *path, struct clp_profile *profile, struct clp_progress *progress)
{
    struct clp_fault fault;

    if (leads_family(path, diff->mem)) {
        clp_progress_clear(progress);
        return clp_merge_files(&path, 1, 2, profile) && (profile->left_out_count == 0 || diff->request->fail_on == NULL);
    }
    bool done = clp_reading_file(path, false, profile, NULL, &fault) == CLP_OK;
    if (done && profile->left_out_count == 0)
        return true;
    clp_progress_clear(progress);
    if (!done)
        clp_reading_complain(path, &fault, diff->mem);
    else
        clp_reading_say_left_out(path, profile);
    return done && diff->request->fail_on == NULL; /* a gate does not pass what it has not seen */
}

static bool read_side(struct clp_diff *diff, int side, struct clp_progress *progress)
{
    const struct clp_diff_request *request = diff->request;
    size_t start = side == CLP_OLD ? 0 : request->counts[CLP_OLD];
    int all = (int)(request->counts[CLP_OLD] + request->counts[CLP_NEW]);

    diff->profiles[side] =
        clp_mem_alloc(diff->mem, request->counts[side], sizeof *diff->profiles[side]);
    if (diff->profiles[side] == NULL) {
        clp_progress_clear(progress);
        clp_console_complain(me, "out of memory");
        return false;
    }
    for (size_t i = 0; i < request->counts[side]; i++)
        clp_profile_init(&diff->profiles[side][i], diff->mem);
    for (size_t i = 0; i < request->counts[side]; i++) {
        struct clp_profile *profile = &diff->profiles[side][i];
        clp_progress_say(progress, "reading", (int)(start + i + 1), all);
        bool done = read_file(diff, request->files[start + i], profile, progress);
        diff->denied |= profile->denied;
        if (!done)
            return false;
    }
    return true;
}

static void clear_side(struct clp_diff *diff, int side)
{
    size_t count = diff->request->counts[side];

    for (size_t i = 0; diff->profiles[side] != NULL && i < count; i++)
        if (diff->profiles[side][i].mem != NULL)
            clp_profile_clear(&diff->profiles[side][i]);
    clp_mem_free(diff->mem, diff->profiles[side], count, sizeof *diff->profiles[side]);
}

/* Complains, and returns true, when a limit or --measure names a measure that one side does not have. */
static bool complain_of_unknown(const struct clp_diff *diff)
{
    const struct clp_comparison *comparison = &diff->comparison;
    const struct clp_limit *limit = clp_limits_find_unknown(&diff->request->limits, comparison);
    enum clp_measure measure = limit != NULL ? limit->measure : CLP_MEASURES;

    for (size_t i = 0; diff->request->measures != NULL && measure == CLP_MEASURES &&
                       i < comparison->options.measures.count; i++) {
        enum clp_measure wanted = comparison->options.measures.items[i];
        if (!comparison->known[CLP_OLD][wanted] || !comparison->known[CLP_NEW][wanted])
            measure = wanted;
    }
    if (measure == CLP_MEASURES)
        return false;
    bool old = !comparison->known[CLP_OLD][measure];
    clp_console_complain_format(me, "%s cannot be compared: %s has no such numbers",
                                clp_measure_rows[measure].name,
                                diff->request->files[old ? 0 : diff->request->counts[CLP_OLD]]);
    return true;
}

/* ---- limits ---- */

static void keep_breach(void *listener, const struct clp_breach *breach)
{
    struct clp_diff *diff = listener;

    if (diff->breach_count == diff->breach_room) {
        void *breaches = diff->breaches;
        if (clp_mem_grow(diff->mem, &breaches, &diff->breach_room, diff->breach_room * 2 + 16,
                         sizeof *diff->breaches) != CLP_OK)
            return;
        diff->breaches = breaches;
    }
    diff->breaches[diff->breach_count++] = *breach;
}

static void add_limits_head(const struct clp_diff *diff, struct clp_buf *out)
{
    if (diff->breach_count == 0)
        clp_buf_add_text(out, "No limit is broken: ");
    else
        clp_buf_add_text(out, "Limits are broken: ");
    clp_escape_add_text(out, diff->request->fail_on);
    clp_buf_add_text(out, "\n");
}

static void add_limits(const struct clp_diff *diff, struct clp_buf *out)
{
    add_limits_head(diff, out);
    for (size_t i = 0; i < diff->breach_count; i++)
        clp_diff_text_add_breach(&diff->breaches[i], diff->folder, out);
}

/* Prints the limits that were broken on standard error, for people, when the output is JSON or a page, or goes to a
 * file. */
static void print_limits(const struct clp_diff *diff)
{
    struct clp_buf text;

    clp_buf_init(&text, diff->mem);
    add_limits(diff, &text);
    clp_console_print(2, clp_buf_text(&text));
    clp_buf_clear(&text);
}

/* ---- text ---- */

/* Appends one fact such as "Python 3.13.0" to the list in parentheses behind the files. *between is what separates it
 * from what stands before. Appends nothing when `text` is NULL. */
static void add_fact(struct clp_buf *out, const char *what, const char *text, const char **between)
{
    if (text == NULL)
        return;
    clp_buf_add_format(out, "%s%s", *between, what);
    clp_escape_add_text(out, text);
    *between = ", ";
}

/* Appends facts about a side that may explain a difference: Python, tracer, wall time. With several files the first
 * one's Python and tracer are shown, and the average wall time. */
static void add_about(const struct clp_diff *diff, int side, struct clp_buf *out)
{
    const struct clp_profile_meta *meta = &diff->profiles[side][0].meta;
    size_t count = diff->request->counts[side];
    const char *between = " (";
    char text[64];
    double wall = 0;

    for (size_t i = 0; i < count; i++)
        wall += (double)diff->profiles[side][i].meta.wall * 1e-9 / (double)count;
    (void)snprintf(text, sizeof text, "average of %zu", count);
    add_fact(out, "", count > 1 ? text : NULL, &between);
    add_fact(out, "Python ", meta->python, &between);
    add_fact(out, "tracer ", meta->tracer, &between);
    (void)snprintf(text, sizeof text, "%.3g s", wall);
    add_fact(out, "", wall != 0 ? text : NULL, &between);
    clp_buf_add_text(out, *between == ',' ? ")\n" : "\n");
}

static void add_side(const struct clp_diff *diff, int side, struct clp_buf *out)
{
    size_t start = side == CLP_OLD ? 0 : diff->request->counts[CLP_OLD];

    clp_buf_add_text(out, side == CLP_OLD ? "Before:" : "After: ");
    clp_buf_add_text(out, diff->request->titles[side] != NULL ? " " : "");
    clp_escape_add_text(out, diff->request->titles[side] != NULL ? diff->request->titles[side] : "");
    for (size_t i = 0; i < diff->request->counts[side] && diff->request->titles[side] == NULL; i++) {
        const char *path = diff->request->files[start + i];
        clp_buf_add_text(out, " ");
        clp_escape_add_text(out, path);
    }
    add_about(diff, side, out);
}

static struct clp_diff_text_options text_options(const struct clp_diff *diff, bool marked)
{
    double unit = diff->request->unit;

    return (struct clp_diff_text_options){.unit = unit != CLP_UNIT_USUAL ? unit : marked ? CLP_UNIT_AUTO : 1e-6,
                                          .marked = marked, .folder = diff->folder,
                                          .top = diff->request->top, .all = diff->request->all};
}

/* Says that times were measured in unlike ways. */
static void add_unlike_clocks(const struct clp_diff *diff, struct clp_buf *out)
{
    bool old = clp_profile_is_light(&diff->profiles[CLP_OLD][0].meta);

    if (old != clp_profile_is_light(&diff->profiles[CLP_NEW][0].meta))
        clp_buf_add_format(out, "The times %s are estimates (--light), and the others are exact.\n",
                           old ? "before" : "after");
}

/* Writes what the page says above its tables. */
static void write_said(const struct clp_diff *diff, struct clp_buf *out)
{
    struct clp_diff_text_options options = text_options(diff, false);

    add_side(diff, CLP_OLD, out);
    add_side(diff, CLP_NEW, out);
    add_unlike_clocks(diff, out);
    if (diff->request->fail_on != NULL)
        add_limits_head(diff, out);
    out->failed |= clp_diff_text_add_end(&diff->comparison, &options, out) != CLP_OK;
}

void clp_diff_add_text(const struct clp_diff *diff, bool marked, struct clp_buf *out)
{
    struct clp_diff_text_options options = text_options(diff, marked);

    for (int side = 0; side < 2; side++) {
        clp_buf_add_text(out, marked ? CLP_MARK_HEADING : "");
        add_side(diff, side, out);
    }
    add_unlike_clocks(diff, out);
    out->failed |= clp_diff_text_add(&diff->comparison, &options, out) != CLP_OK;
    if (diff->request->fail_on != NULL && diff->request->outfile == NULL) {
        clp_buf_add_text(out, "\n");
        add_limits(diff, out);
    }
}

static void write_text(const void *data, bool marked, struct clp_buf *out)
{
    clp_diff_add_text(data, marked, out);
}

/* ---- the command ---- */

static bool may_run(const struct clp_diff_request *request)
{
    int count = (int)(request->counts[CLP_OLD] + request->counts[CLP_NEW]);

    return clp_reading_check_names(request->files, count) &&
           !clp_overwrite_refuse(&(struct clp_overwrite){
               .program = me, .path = request->outfile, .files = request->files, .file_count = count});
}


/* Makes the output in any format but text. */
static bool export(const struct clp_diff *diff, struct clp_buf *out)
{
    bool page = strcmp(diff->request->format, "html") == 0;
    struct clp_buf said;

    clp_buf_init(&said, diff->mem);
    if (page)
        write_said(diff, &said);
    bool made = !said.failed && clp_diff_export(diff, page ? clp_buf_text(&said) : NULL, out);
    out->failed |= said.failed;
    clp_buf_clear(&said);
    return made;
}

static bool put(const struct clp_diff *diff)
{
    const struct clp_diff_request *request = diff->request;
    bool github = strcmp(request->format, "github") == 0;
    bool text = strcmp(request->format, "text") == 0, made = true;
    const struct clp_paper_wish wish = {.name = me, .color = request->color};
    struct clp_buf out;

    clp_buf_init(&out, diff->mem);
    if (github && request->fail_on != NULL && diff->breach_count == 0)
        add_limits(diff, &out);
    if (!text)
        made = export(diff, &out);
    else
        clp_paper_write(request->outfile == NULL ? &wish : NULL, write_text, diff, &out);
    if (text)
        clp_overwrite_note_ending(me, request->outfile, CLP_OVERWRITE_TEXT, formats);
    if (out.failed)
        clp_console_complain(me, clp_status_text(CLP_NO_MEMORY));
    bool done = (made || out.used != 0) && !out.failed &&
                clp_console_put(me, request->outfile,
                                &(struct clp_file_content){clp_buf_text(&out), out.used, 0666 & ~diff->denied});
    if (request->fail_on != NULL && (request->outfile != NULL || (!text && !github)))
        print_limits(diff);
    clp_buf_clear(&out);
    return made && done;
}

static int check_and_put(struct clp_diff *diff)
{
    size_t broken;

    if (complain_of_unknown(diff))
        return CLP_DIFF_FAILED;
    broken = clp_limits_check(&diff->request->limits, &diff->comparison, keep_breach, diff);
    if (broken != diff->breach_count) {
        clp_console_complain(me, clp_status_text(CLP_NO_MEMORY));
        return CLP_DIFF_FAILED;
    }
    bool done = put(diff);
    if (broken != 0)
        return CLP_DIFF_BROKEN;
    return done ? CLP_DIFF_PASSED : CLP_DIFF_FAILED;
}

static bool read_sides(struct clp_diff *diff)
{
    struct clp_progress progress = clp_progress_start();

    bool done = read_side(diff, CLP_OLD, &progress) && read_side(diff, CLP_NEW, &progress);
    clp_progress_clear(&progress);
    return done;
}

int clp_diff_compare(const struct clp_diff_request *request, struct clp_mem *mem)
{
    struct clp_diff diff = {.request = request, .mem = mem};
    struct clp_compare_options options = options_of(request, mem);
    const char *workspace = getenv("GITHUB_WORKSPACE");
    bool github = strcmp(request->format, "github") == 0;
    char folder[PATH_MAX];
    int code = CLP_DIFF_FAILED;

    diff.folder = github && workspace != NULL && *workspace != 0 ? workspace
                                                                 : getcwd(folder, sizeof folder);
    if (!read_sides(&diff))
        goto out;
    struct clp_compare_side sides[2] = {{diff.profiles[CLP_OLD], request->counts[CLP_OLD]},
                                        {diff.profiles[CLP_NEW], request->counts[CLP_NEW]}};
    if (clp_comparison_make(&diff.comparison, diff.mem, &options, sides) == CLP_OK) {
        code = check_and_put(&diff);
        clp_comparison_clear(&diff.comparison);
    } else {
        clp_console_complain(me, clp_status_text(CLP_NO_MEMORY));
    }
out:
    clp_mem_free(diff.mem, diff.breaches, diff.breach_room, sizeof *diff.breaches);
    clear_side(&diff, CLP_OLD);
    clear_side(&diff, CLP_NEW);
    return code;
}

int clp_diff_main(int argc, char **argv, struct clp_mem *mem)
{
    struct clp_diff_request request = clp_diff_defaults();
    int code = CLP_DIFF_USAGE;
    struct clp_buf text;

    clp_buf_init(&text, mem);
    if (!parse(argc - 1, argv + 1, &request, &text)) {
        clp_console_complain(me, clp_buf_text(&text));
    } else if (request.help) {
        code = clp_command_line_help(&command_line, mem);
    } else if (may_run(&request)) {
        code = clp_diff_compare(&request, mem);
    }
    clp_mem_free(mem, request.files, request.file_room, sizeof *request.files);
    clp_buf_clear(&text);
    return code;
}
