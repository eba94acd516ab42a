/* SPDX-License-Identifier: MIT */
/* Builds the report: headings, the rows of each function (or one ranking of lines), a summary, a footer.
 * table.c fills the cells of a row. */
#include "report.h"
#include "callees_below.h"
#include "file_table.h"
#include "fold.h"
#include "footer.h"
#include "hottest.h"
#include "leak_report.h"
#include "ranking.h"
#include "base/escape.h"
#include "profile/missed.h"
#include "profile/named.h"
#include "profile/source.h"
#include "table.h"
#include "formats/lprof/wire_rows.h"
#include <locale.h>
#include <stdio.h>
#include <string.h>

/* Limits the rows without data and without source in one report: a damaged or hostile profile may claim a line two
 * thousand million lines further down. */
#define CLP_REPORT_MAX_BLANKS 1000000

#define MOST_KEPT_ROWS 10000

static const char line_title[] = "Line #";

struct report {
    const struct clp_profile *profile;
    const struct clp_report_options *options;
    struct clp_buf *out;
    struct clp_choice choice;   /* the functions shown */
    struct clp_columns columns; /* the columns shown */
    struct clp_column_scale scale;
    struct clp_table table;
    bool memory;   /* does any column show memory? Then the table is not line_profiler's */
    int64_t blanks_left;   /* of CLP_REPORT_MAX_BLANKS */
    struct clp_fold fold;
};

struct clp_report_options clp_report_defaults(void)
{
    return (struct clp_report_options){.unit = 1e-6};
}

bool clp_report_suits_files(const struct clp_profile *profile, const struct clp_report_options *options)
{
    bool found = false;

    if (options->tables != CLP_TABLES_USUAL || options->columns.count != 0 || options->choice.functions != NULL)
        return false;
    for (size_t i = 0; i < profile->function_count && !found; i++)
        found = strncmp(profile->functions[i].name, "<module>", strlen("<module>")) == 0;
    return found;
}

/* ---- text of the program ---- */

static void add_file(const struct report *report, const char *file)
{
    clp_escape_add_file(report->out, file, report->options->folder);
}

static void start_heading(const struct report *report, const char *text)
{
    if (report->options->marked)
        clp_buf_add_text(report->out, CLP_MARK_HEADING);
    clp_buf_add_text(report->out, text);
}

static bool fits_units(const struct report *report)
{
    return report->options->unit == CLP_UNIT_AUTO;
}

/* Adds a total. */
static void add_seconds(struct report *report, double nanos)
{
    if (fits_units(report))
        clp_number_add_time(report->out, nanos);
    else
        clp_buf_add_format(report->out, "%g s", nanos * 1e-9);
}

/* ---- the rows of a function ---- */

struct body {
    const struct clp_profile_function *function;
    struct clp_table_total total;
    struct clp_wire_rows rows; /* at the first line not yet shown */
    struct clp_measures gc; /* the row of garbage collections */
    int64_t line;     /* the next row's line number */
    int64_t head_end; /* line number of the last row of the function's head, which is not folded; 0: no head */
    size_t missed;    /* place among the function's missed lines */
};

/* Are the rows of the whole function kept in memory? Rows of longer tables are computed a second time when shown. */
static bool keeps_rows(const struct clp_profile_function *function)
{
    return function->line_count <= MOST_KEPT_ROWS;
}

/* Fills the row of the line at body->rows.at. Where rows are not kept, all lines use row 0. */
static const struct clp_table_row *set_row(struct report *report, const struct body *body)
{
    size_t at = keeps_rows(body->function) ? body->rows.next - 1 : 0;

    clp_table_set_row(&report->table, at, &body->rows.at->measures, &body->total);
    return &report->table.rows[at];
}

static const struct clp_table_row *set_gc_row(struct report *report, const struct body *body)
{
    size_t at = keeps_rows(body->function) ? body->function->line_count : 0;

    clp_table_set_row(&report->table, at, &body->gc, &body->total);
    return &report->table.rows[at];
}

static void set_total(struct report *report, struct body *body)
{
    const struct clp_wire_rows start = body->rows;

    body->total.time =
        (double)clp_whole_total(report->profile, body->function, report->scale.raw_times);
    if (!report->options->marked && report->options->min_percent == 0)
        return; /* only colours and folding use shares of memory */
    for (; body->rows.at != NULL; clp_wire_rows_next(&body->rows))
        body->total.memory += clp_whole_moved(&body->rows.at->measures);
    body->rows = start;
}

/* Fills the rows of all lines before the first is shown: a column is as wide as its widest number. */
static clp_status set_rows(struct report *report, struct body *body)
{
    const struct clp_profile_function *function = body->function;

    if (clp_table_start(&report->table, keeps_rows(function) ? function->line_count + 1 : 1) != CLP_OK)
        return CLP_NO_MEMORY;
    clp_wire_rows_start(&body->rows, report->profile, function);
    set_total(report, body);
    const struct clp_wire_rows start = body->rows;
    for (; body->rows.at != NULL; clp_wire_rows_next(&body->rows)) {
        (void)set_row(report, body);
        clp_whole_add_gc(&body->gc, &body->rows.at->measures);
    }
    (void)set_gc_row(report, body);
    body->rows = start;
    return CLP_OK;
}

static void add_plain_row(struct report *report, struct body *body, int64_t line,
                          const struct clp_table_row *row, const char *lead,
                          struct clp_span contents)
{
    char number[CLP_NUMBER_BYTES];

    snprintf(number, sizeof number, "%lld", (long long)line);
    clp_table_start_row(&report->table, row);
    clp_number_add(report->out, report->fold.width, number);
    if (row == NULL && report->options->marked && clp_missed_is(body->function, &body->missed, line))
        clp_table_add_missed(&report->table);
    else
        clp_table_add_cells(&report->table, row);
    clp_table_add_source(&report->table, lead, contents);
}

/* ---- folding ---- */

static bool stays(const struct report *report, const struct body *body, int64_t line,
                  const struct clp_table_row *row, bool running)
{
    double least = report->options->min_percent;

    if (running || (line >= body->function->first_line && line <= body->head_end))
        return true;
    return row != NULL && row->data &&
           (row->time >= least || (report->memory && row->memory >= least));
}

/* Finds the last line of the function's head: its decorators and the line with the def. Returns 0 where no def is
 * found. */
static int64_t find_head_end(const struct clp_profile_function *function)
{
    struct clp_span rest = {function->source, function->source_bytes}, line = {"", 0};
    int64_t at = function->first_line;

    if (function->source == NULL || !clp_source_next_line(&rest, &line))
        return 0;
    bool decorated = clp_source_begins_with(line, "@");
    while (decorated && !clp_source_is_def(line) && clp_source_next_line(&rest, &line))
        at++;
    return clp_source_is_def(line) ? at : 0;
}

/* ---- the table of a function ---- */

/* Is this the code of an empty file? From 3.11 on the interpreter runs it on line 0. No file has a line 0, so the
 * report shows it as line 1. */
static bool is_of_empty_file(const struct body *body)
{
    return body->function->line_count == 1 && body->rows.at != NULL && body->rows.at->line == 0;
}

static void add_row(struct report *report, struct body *body, struct clp_span contents)
{
    const struct clp_table_row *row = NULL;
    bool running = false;
    int64_t line = body->line++;

    if (body->rows.at != NULL && (body->rows.at->line == line || is_of_empty_file(body))) {
        running = body->rows.at->running;
        row = keeps_rows(body->function) ? &report->table.rows[body->rows.next - 1]
                                         : set_row(report, body);
        clp_wire_rows_next(&body->rows);
    }
    if (report->options->min_percent != 0) {
        if (stays(report, body, line, row, running))
            clp_fold_end(&report->fold);
        else
            clp_fold_note(&report->fold, row != NULL && row->data, contents);
    }
    add_plain_row(report, body, line, row, running ? " >" : "  ", contents);
    if (report->options->min_percent == 0) /* folding cuts rows out of the buffer, so they must still be there */
        clp_drain_long(&report->options->drain, report->out);
}

static const struct clp_span no_contents = {"", 0};

/* Adds the lines with data before line `end`, without rows for the lines between them. */
static void add_lone_rows(struct report *report, struct body *body, int64_t end)
{
    while (body->rows.at != NULL && body->rows.at->line < end) {
        body->line = body->rows.at->line;
        add_row(report, body, no_contents);
    }
}

/* Adds the rows of a function without source: every line from the first to the last that has data, as line_profiler
 * does. Stops before a gap of more than report->blanks_left lines. */
static void add_bare_rows(struct report *report, struct body *body)
{
    if (body->rows.at == NULL)
        add_row(report, body, no_contents);
    while (body->rows.at != NULL) {
        int64_t gap = is_of_empty_file(body) ? 0 : body->rows.at->line - body->line;
        if (gap > report->blanks_left)
            break;
        report->blanks_left -= gap;
        for (; gap >= 0; gap--)
            add_row(report, body, no_contents);
    }
}

static void add_rows(struct report *report, struct body *body)
{
    const struct clp_profile_function *function = body->function;
    struct clp_span rest = {function->source, function->source_bytes}, line;

    if (!is_of_empty_file(body))
        add_lone_rows(report, body, function->first_line);
    body->line = function->first_line;
    if (function->source == NULL)
        add_bare_rows(report, body);
    else
        while (clp_source_next_line(&rest, &line))
            add_row(report, body, line);
    add_lone_rows(report, body, INT64_MAX);
    clp_fold_end(&report->fold);
}

static void add_compiler(struct report *report, const struct clp_profile_function *function)
{
    if (function->compiler == NULL)
        return;
    start_heading(report, "Compiled by: ");
    clp_escape_add_text(report->out, function->compiler);
    clp_buf_add_text(report->out, "; ");
    clp_profile_add_compiled(report->out, function);
    clp_buf_add_text(report->out, "\n");
}

/* Adds the file and the function, and why there is no source. A table without memory equals line_profiler's, which
 * names neither file nor function where the source is missing. A table with memory always names both. */
static void add_place(struct report *report, const struct clp_profile_function *function)
{
    bool has_source = function->source != NULL, none_kept = report->profile->meta.no_source != 0;

    if (has_source || report->memory || function->source_changed || none_kept) {
        start_heading(report, "File: ");
        add_file(report, function->file);
        clp_buf_add_text(report->out, "\n");
        start_heading(report, "Function: ");
        clp_escape_add_text(report->out, function->name);
        clp_buf_add_format(report->out, " at line %d\n", (int)function->first_line);
    }
    add_compiler(report, function);
    if (has_source)
        return;
    if (function->source_changed) {
        clp_buf_add_text(report->out, "\nThe file was changed: the code that ran was compiled from another "
                                      "text.\nContinuing without the function's contents.\n");
        return;
    }
    if (none_kept) {
        clp_buf_add_text(report->out, "\nThe profile was made without texts (--source none).\n");
        return;
    }
    clp_buf_add_text(report->out, "\nCould not find file ");
    add_file(report, function->file);
    clp_buf_add_text(report->out,
                     "\nAre you sure you are running this program from the same directory\n"
                     "that you ran the profiler from?\n"
                     "Continuing without the function's contents.\n");
}

static clp_status add_function(struct report *report, const struct clp_profile_function *function)
{
    struct body body = {.function = function};
    clp_status status = set_rows(report, &body);

    if (status != CLP_OK)
        return status;
    if (report->options->min_percent != 0)
        body.head_end = find_head_end(function);
    start_heading(report, "Total time: ");
    add_seconds(report, body.total.time);
    clp_buf_add_text(report->out, "\n");
    add_place(report, function);
    clp_buf_add_text(report->out, "\n");
    clp_table_start_titles(&report->table);
    clp_table_add_title(&report->table, 'n', report->fold.width, line_title);
    clp_table_add_titles(&report->table, report->fold.width);
    add_rows(report, &body);
    if (report->profile->gc_apart && body.gc.gc_runs != 0)
        clp_table_add_gc_row(&report->table, report->fold.width, set_gc_row(report, &body));
    clp_buf_add_text(report->out, "\n");
    if (clp_columns_have(&report->columns, CLP_MEASURE_native_time) ||
        clp_columns_have(&report->columns, CLP_MEASURE_library))
        clp_callees_below_add(report->out, function);
    return CLP_OK;
}

/* ---- the whole ---- */

static void add_summary_time(struct report *report, double nanos)
{
    struct clp_number number;

    clp_number_set_time(&number, nanos);
    clp_buf_add_text(report->out, report->options->marked ? CLP_MARK_LINE : "");
    if (fits_units(report))
        clp_buf_add_format(report->out, "%s - ", number.text);
    else
        clp_buf_add_format(report->out, "%6.2f seconds - ", nanos * 1e-9);
}

static void add_summary(struct report *report)
{
    for (size_t i = 0; i < report->choice.count; i++) {
        const struct clp_profile_function *function =
            &report->profile->functions[report->choice.places[i]];
        uint64_t total = clp_whole_total(report->profile, function, report->scale.raw_times);
        if (report->options->choice.skip_zero && total == 0)
            continue;
        add_summary_time(report, (double)total);
        add_file(report, function->file);
        clp_buf_add_format(report->out, ":%d - ", (int)function->first_line);
        clp_escape_add_text(report->out, function->name);
        clp_buf_add_text(report->out, "\n");
        clp_drain_long(&report->options->drain, report->out);
    }
}

static void add_runs(struct clp_buf *out, uint64_t runs, double nanos)
{
    clp_buf_add_format(out, "%llu run%s, ", (unsigned long long)runs, clp_buf_plural(runs));
    clp_number_add_time(out, nanos);
}

/* Adds all garbage collections of the profile, also those outside its lines. */
static void add_collections(struct report *report)
{
    const struct clp_profile_meta *meta = &report->profile->meta;
    const struct clp_measures gc = clp_whole_of(report->profile, false).gc;

    clp_buf_add_text(report->out, "Garbage collection: ");
    add_runs(report->out, gc.gc_runs, (double)gc.gc);
    if (meta->gc_outside_runs != 0) {
        clp_buf_add_text(report->out, "; outside the lines: ");
        add_runs(report->out, meta->gc_outside_runs, (double)meta->gc_outside);
    }
    clp_buf_add_text(report->out, ".\n");
    if (meta->gc_cleared != 0)
        clp_buf_add_text(report->out, "The program cleared gc.callbacks: later collections are missing.\n");
}

/* Adds what was allocated for tensors while no line of the profile ran, so that nothing is missing in the sums. */
static void add_tensors_outside(struct report *report)
{
    struct clp_profile_meta meta = report->profile->meta; /* a copy, of which nothing is changed */
    const char *before = "Tensors outside the lines: ";

    for (size_t i = 0; i < CLP_DEVICES; i++) {
        const struct clp_named_outside outside = clp_named_outside(&meta, i);
        const char *name = *clp_named_name(&meta, CLP_NAMED_DEVICE + i);
        if (name == NULL || (*outside.allocated == 0 && *outside.freed == 0))
            continue;
        clp_buf_add_text(report->out, before);
        clp_escape_add_text(report->out, name);
        clp_buf_add_text(report->out, " ");
        clp_number_add_bytes(report->out, (double)*outside.allocated);
        clp_buf_add_text(report->out, " allocated, ");
        clp_number_add_bytes(report->out, (double)*outside.freed);
        clp_buf_add_text(report->out, " freed");
        before = "; ";
    }
    if (before[0] == ';')
        clp_buf_add_text(report->out, ".\n");
}

/* Says so if the numbers of tensors are not exact. */
static void add_how_tensors_were_read(struct report *report)
{
    uint64_t read = report->profile->meta.tensors_read;

    if (read == CLP_TENSORS_NOT_READ)
        return;
    clp_buf_add_text(report->out,
                     "Tensors of CUDA devices were read from PyTorch's statistics at the ends of lines of 100 us or "
                     "more. What\nshorter lines did belongs to the next line that was read; what other threads did, to the "
                     "line that read it.\n");
    if (read == CLP_TENSORS_READ_IN_PART)
        clp_buf_add_text(report->out,
                         "PyTorch's statistics could not be read to the end: later changes are missing.\n");
}

/* Says so if counters of the program's were not read behind short lines. */
static void add_unread_counters(struct report *report)
{
    struct clp_profile_meta meta = report->profile->meta; /* a copy, of which nothing is changed */

    for (size_t i = 0; i < CLP_TALLY_COUNTERS; i++) {
        const char *name = *clp_named_name(&meta, CLP_NAMED_COUNTER + i);
        double unread = (double)*clp_named_unread(&meta, i);
        if (name == NULL || unread == 0)
            continue;
        clp_buf_add_text(report->out, "Counter ");
        clp_escape_add_text(report->out, name);
        clp_buf_add_text(report->out, ": for ");
        clp_number_add_time(report->out, unread);
        clp_buf_add_text(report->out,
                         " lines were too short to read it behind each. What they changed belongs to the next long line,\n"
                         "or cancelled out. clineprof.counter(.., every=0) reads it behind each line.\n");
    }
}

/* Adds what devices did for no line. */
static void add_devices(struct report *report)
{
    const struct clp_profile_meta *meta = &report->profile->meta;

    if (meta->outside_launches == 0 && meta->lost_launches == 0)
        return;
    clp_buf_add_text(report->out, "Devices: ");
    if (meta->outside_launches != 0) {
        clp_buf_add_format(report->out, "%llu launch%s outside the lines, ", (unsigned long long)meta->outside_launches,
                           meta->outside_launches == 1 ? "" : "es");
        clp_number_add_time(report->out, (double)meta->outside_device_time);
    }
    if (meta->lost_launches != 0)
        clp_buf_add_format(report->out, "%s%llu without a line or a time", meta->outside_launches != 0 ? "; " : "",
                           (unsigned long long)meta->lost_launches);
    clp_buf_add_text(report->out, ".\n");
}

static void add_footer(struct report *report)
{
    struct clp_footer_options options = {.raw_times = report->scale.raw_times,
                                         .memory = report->memory,
                                         .details = report->options->footer_details};
    size_t start = report->out->used;

    if (report->options->summarize)
        clp_buf_add_text(report->out, "\n");
    if (!clp_footer_add(&report->profile->meta, &options, report->out))
        clp_buf_cut(report->out, start);
}

static clp_status add_functions(struct report *report)
{
    clp_status status = CLP_OK;

    for (size_t i = 0; i < report->choice.count && status == CLP_OK; i++) {
        status = add_function(report, &report->profile->functions[report->choice.places[i]]);
        clp_drain_long(&report->options->drain, report->out);
    }
    return status;
}

static bool has_self(const struct report *report)
{
    return report->table.whole.self != 0;
}

static clp_status add_lines(struct report *report)
{
    struct clp_choice_options options = report->options->choice;
    if (options.order == CLP_CHOICE_BY_self && !has_self(report))
        options.order = CLP_CHOICE_BY_time;
    struct clp_ranking ranking = {
        .profile = report->profile,
        .choice = &report->choice,
        .options = &options,
        .most = report->options->lines,
        .folder = report->options->folder,
    };

    return clp_ranking_add(&ranking, &report->table);
}

static clp_status add_files(struct report *report)
{
    const struct clp_file_tables tables = {
        .profile = report->profile,
        .choice = &report->choice,
        .options = &report->options->choice,
        .fold = &report->fold,
        .min_percent = report->options->min_percent,
        .folder = report->options->folder,
        .drain = &report->options->drain,
    };

    return clp_file_tables_add(&tables, &report->table);
}

static clp_status add_tables(struct report *report)
{
    if (report->options->no_details)
        return CLP_OK;
    if (report->options->lines != 0)
        return add_lines(report);
    return report->options->tables == CLP_TABLES_FILES ? add_files(report) : add_functions(report);
}

static clp_status add_hottest(struct report *report)
{
    struct clp_hottest hottest = {
        .profile = report->profile,
        .choice = &report->choice,
        .options = &report->options->choice,
        .folder = report->options->folder,
        .lines = report->options->lines == 0,
        .memory = report->profile->meta.has_memory && !report->options->no_memory,
    };

    return report->options->hottest ? clp_hottest_add(&hottest, &report->table) : CLP_OK;
}

static clp_status add_report(struct report *report)
{
    if (!fits_units(report)) {
        start_heading(report, "Timer unit: ");
        clp_buf_add_format(report->out, "%g s\n\n", report->options->unit);
    }
    clp_status status = add_hottest(report);
    if (status == CLP_OK)
        status = add_tables(report);
    if (report->profile->gc_apart && !report->options->no_details)
        add_collections(report);
    if (!report->options->no_details) {
        add_unread_counters(report);
        add_tensors_outside(report);
        add_how_tensors_were_read(report);
    }
    if (report->profile->meta.has_device_time != 0 && !report->options->no_details)
        add_devices(report);
    if (report->options->summarize)
        add_summary(report);
    bool to_be_told = report->memory || clp_profile_is_light(&report->profile->meta);
    if ((to_be_told && !report->options->no_details) || report->options->footer)
        add_footer(report);
    clp_leak_report_text(report->profile, report->options->folder, report->options->marked, report->out);
    return status == CLP_OK && report->out->failed ? CLP_NO_MEMORY : status;
}

/* The default columns: [usual, with --self, or of lines of many functions]. Those of memory follow. */
static const char *const usual_columns[3] = {"hits,time,per-hit,percent", "hits,time,per-hit,percent,self,self-percent",
                                             "hits,time,self,share"};

/* Are lines of different functions in one table? Then they are shares of the whole program. */
static bool ranks(const struct clp_report_options *options)
{
    return options->lines != 0 || options->tables == CLP_TABLES_FILES;
}

static void add_memory_columns(struct report *report)
{
    clp_columns_add(&report->columns, "mem");
    clp_columns_add(&report->columns, "increment");
    if (report->options->self)
        clp_columns_add(&report->columns, "self-increment");
    if (clp_columns_allocated_tells(report->profile))
        clp_columns_add(&report->columns, "allocated");
}

static void add_cpu_columns(struct report *report)
{
    clp_columns_add(&report->columns, "cpu");
    clp_columns_add(&report->columns, "wait");
    if (report->profile->meta.has_queue != 0)
        clp_columns_add(&report->columns, "queue");
}

static void add_called_columns(struct report *report)
{
    clp_columns_add(&report->columns, "native-time");
    clp_columns_add(&report->columns, "library");
}

static void add_counter_columns(struct report *report)
{
    static const enum clp_measure measures[] = {
        CLP_MEASURE_read,     CLP_MEASURE_written,     CLP_MEASURE_disk_read, CLP_MEASURE_faults,
        CLP_MEASURE_major_faults, CLP_MEASURE_switches, CLP_MEASURE_preemptions, CLP_MEASURE_counter1,
        CLP_MEASURE_counter2, CLP_MEASURE_counter3, CLP_MEASURE_counter4,  CLP_MEASURE_device1_allocated,
        CLP_MEASURE_device1_net, CLP_MEASURE_device1_peak, CLP_MEASURE_device2_allocated, CLP_MEASURE_device2_net,
        CLP_MEASURE_device2_peak, CLP_MEASURE_device3_allocated, CLP_MEASURE_device3_net, CLP_MEASURE_device3_peak,
        CLP_MEASURE_device4_allocated, CLP_MEASURE_device4_net, CLP_MEASURE_device4_peak, CLP_MEASURE_device_time,
        CLP_MEASURE_device_wait};

    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++)
        if (clp_profile_lacks(&report->profile->meta, measures[i]) == NULL)
            clp_columns_add(&report->columns, clp_measure_rows[measures[i]].name);
}

static void choose_columns(struct report *report)
{
    const struct clp_report_options *options = report->options;
    const struct clp_profile *profile = report->profile;
    bool memory = profile->meta.has_memory && !options->no_memory;
    size_t bytes;

    report->columns = options->columns;
    if (report->columns.count == 0) {
        bool ranked = ranks(options) && clp_whole_of(profile, report->scale.raw_times).self != 0;
        size_t usual = options->self ? 1 : ranked ? 2 : 0;
        (void)clp_columns_parse(&report->columns, usual_columns[usual], &bytes);
        if ((memory || fits_units(report)) && clp_columns_await_tells(profile))
            clp_columns_add(&report->columns, "await");
        if (options->marked && options->gc == CLP_GC_USUAL && clp_columns_gc_tells(profile))
            clp_columns_add(&report->columns, "gc");
        if (clp_profile_is_light(&profile->meta))
            clp_columns_add(&report->columns, "error");
        if (profile->meta.has_cpu != 0)
            add_cpu_columns(report);
        if (profile->meta.has_called != 0)
            add_called_columns(report);
        add_counter_columns(report);
        if (memory)
            add_memory_columns(report);
        if (profile->meta.heap_interval != 0 && !options->no_memory)
            clp_columns_add(&report->columns, "live");
    }
    if (options->gc == CLP_GC_APART && !clp_columns_have(&report->columns, CLP_MEASURE_gc))
        clp_columns_add(&report->columns, "gc");
    for (size_t i = 0; i < report->columns.count; i++)
        report->memory |= clp_column_is_memory(report->columns.items[i]);
}

static bool has_share(const struct clp_columns *columns)
{
    for (size_t i = 0; i < columns->count; i++)
        if (columns->items[i]->form == CLP_COLUMN_SHARE)
            return true;
    return false;
}

static clp_status make_report(struct report *report)
{
    size_t usual = strlen(line_title), least = report->options->widths.line, line_width = least > usual ? least : usual;

    report->table = (struct clp_table){.out = report->out, .columns = &report->columns,
                                       .scale = &report->scale, .meta = &report->profile->meta,
                                       .widths_least = &report->options->widths,
                                       .marked = report->options->marked};
    if (report->options->marked || report->options->hottest || ranks(report->options) ||
        has_share(&report->options->columns))
        report->table.whole = clp_whole_of(report->profile, report->scale.raw_times);
    clp_fold_init(&report->fold, report->out, report->options->marked);
    report->fold.width = line_width;
    clp_status status = add_report(report);
    if (report->fold.hidden.failed)
        status = CLP_NO_MEMORY;
    clp_table_clear(&report->table);
    clp_fold_clear(&report->fold);
    return status;
}

clp_status clp_report_text(const struct clp_profile *profile,
                           const struct clp_report_options *options, struct clp_buf *out)
{
    struct report report = {
        .profile = profile,
        .options = options,
        .out = out,
        .scale = {options->unit == CLP_UNIT_AUTO ? 0 : 1e-9 / options->unit, options->choice.raw_times},
        .blanks_left = CLP_REPORT_MAX_BLANKS,
    };
    struct clp_profile apart = *profile;

    choose_columns(&report);
    apart.gc_apart = options->gc != CLP_GC_WITHIN && clp_columns_have(&report.columns, CLP_MEASURE_gc);
    report.profile = &apart;
    clp_status status = clp_choice_make(&report.choice, &apart, &options->choice, out->mem);
    if (status != CLP_OK)
        return status;
    /* The profiled program may have set a locale that writes 0,9 for 0.9. */
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    locale_t before = plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;
    status = make_report(&report);
    if (plain != (locale_t)0) {
        uselocale(before);
        freelocale(plain);
    }
    clp_choice_clear(&report.choice);
    return status;
}
