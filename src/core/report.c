/* SPDX-License-Identifier: MIT */
/* A table is made in two steps: first the text of every cell, because a column is as wide as its
 * widest cell, then the rows. Cells are kept in one scratch array that all functions share. */
#include "report.h"
#include "number.h"
#include "shown.h"
#include "source.h"
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows without data and without source in one report. A damaged or hostile profile may claim a line
 * two thousand million lines further down. */
#define CLP_REPORT_MAX_BLANKS 1000000

enum format { CLP_FORMAT_COUNT, CLP_FORMAT_TICKS, CLP_FORMAT_PER_HIT, CLP_FORMAT_PERCENT,
              CLP_FORMAT_BYTES };

enum value {
#define CLP_MEASURE_VALUE(name, type, merge) CLP_VALUE_##name,
    CLP_MEASURE_TABLE(CLP_MEASURE_VALUE)
#undef CLP_MEASURE_VALUE
    CLP_VALUE_increment
};

static const struct column {
    const char *name, *title;
    size_t width;
    enum format format;
    enum value value;
} columns[] = {
#define CLP_REPORT_COLUMN(name, title, width, format, value) \
    {name, title, width, CLP_FORMAT_##format, CLP_VALUE_##value},
    CLP_REPORT_COLUMN_TABLE(CLP_REPORT_COLUMN)
#undef CLP_REPORT_COLUMN
};

#define COLUMN_COUNT (sizeof columns / sizeof *columns)

static const char line_title[] = "Line #";

struct row {
    struct clp_number cells[CLP_REPORT_MAX_COLUMNS];
};

struct report {
    const struct clp_profile *profile;
    const struct clp_report_options *options;
    struct clp_buf *out;
    unsigned char columns[CLP_REPORT_MAX_COLUMNS]; /* shown: places in the table above */
    size_t column_count;
    bool memory;      /* is any of them of memory? Then the table is not line_profiler's */
    double scalar;    /* units of the Time column in a nanosecond */
    size_t folder;    /* bytes of options->folder without a slash at its end */
    int64_t blanks_left;
    struct row *rows; /* one for each line of the function at hand */
    size_t row_room;
};

struct clp_report_options clp_report_defaults(void)
{
    return (struct clp_report_options){.unit = 1e-6};
}

const char *clp_report_set_columns(struct clp_report_options *options, const char *names,
                                   size_t *bytes)
{
    unsigned char found[CLP_REPORT_MAX_COLUMNS];
    size_t count = 0;

    for (;; names += *bytes + 1) {
        size_t at = 0;
        *bytes = strcspn(names, ",");
        while (at < COLUMN_COUNT && (strncmp(columns[at].name, names, *bytes) != 0 ||
                                     columns[at].name[*bytes] != 0))
            at++;
        if (at == COLUMN_COUNT)
            return names;
        if (count == CLP_REPORT_MAX_COLUMNS)
            return "";
        found[count++] = (unsigned char)at;
        if (names[*bytes] == 0)
            break;
    }
    memcpy(options->columns, found, count);
    options->column_count = count;
    return NULL;
}

void clp_report_add_columns(struct clp_buf *out)
{
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        clp_buf_add_format(out, "%s%s", i == 0 ? "" : ",", columns[i].name);
}

enum clp_report_order clp_report_order_named(const char *name)
{
#define CLP_REPORT_ORDER_TEXT(order, text) text,
    static const char *const texts[] = {CLP_REPORT_ORDER_TABLE(CLP_REPORT_ORDER_TEXT)};
#undef CLP_REPORT_ORDER_TEXT
    unsigned at = 0;

    while (at < CLP_REPORT_ORDERS && strcmp(texts[at], name) != 0)
        at++;
    return (enum clp_report_order)at;
}

/* ---- text of the program ---- */

static void add_name(struct clp_buf *out, const char *name)
{
    clp_shown_add(out, name, strlen(name));
}

static void add_file(struct report *report, const char *file)
{
    size_t folder = report->folder;

    if (report->options->folder != NULL && strncmp(file, report->options->folder, folder) == 0 &&
        file[folder] == '/' && file[folder + 1] != 0)
        file += folder + 1;
    add_name(report->out, file);
}

/* ---- numbers ---- */

static uint64_t line_time(const struct report *report, const struct clp_measures *measures)
{
    return report->options->raw_times ? measures->raw_time : measures->time;
}

static bool was_hit(const struct clp_profile_function *function)
{
    for (size_t i = 0; i < function->line_count; i++)
        if (function->lines[i].measures.hits != 0)
            return true;
    return false;
}

/* A line's share in percent, never above 100 whatever a foreign file says. */
static double share(double time, double total)
{
    return time < total ? 100 * time / total : 100;
}

/* The function's inclusive time; line_profiler knows only the sum of its lines. */
static uint64_t total_time(const struct report *report,
                           const struct clp_profile_function *function)
{
    uint64_t total = report->options->raw_times ? function->raw_total : function->total;
    uint64_t sum = 0;

    if (total != 0)
        return total;
    for (size_t i = 0; i < function->line_count; i++)
        sum += line_time(report, &function->lines[i].measures);
    return sum;
}

static double value_of(const struct report *report, const struct clp_measures *measures,
                       enum value value)
{
    if (report->options->raw_times && value == CLP_VALUE_time)
        value = CLP_VALUE_raw_time;
    if (report->options->raw_times && value == CLP_VALUE_self)
        value = CLP_VALUE_raw_self;
    switch (value) {
#define CLP_MEASURE_CASE(name, type, merge) \
    case CLP_VALUE_##name:                  \
        return (double)measures->name;
        CLP_MEASURE_TABLE(CLP_MEASURE_CASE)
#undef CLP_MEASURE_CASE
    case CLP_VALUE_increment:
        return (double)clp_measures_increment(measures);
    }
    return 0;
}

/* Cells stay empty where the measure was not taken, or came in with a profile without it. */
static void set_cell(const struct report *report, const struct column *column,
                     const struct clp_measures *measures, double total, struct clp_number *cell)
{
    double value = value_of(report, measures, column->value);
    double hits = (double)measures->hits;

    if (column->format == CLP_FORMAT_COUNT)
        clp_number_set_count(cell, measures->hits, column->width);
    else if (column->format == CLP_FORMAT_TICKS)
        clp_number_set_decimal(cell, value * report->scalar, column->width);
    else if (column->format == CLP_FORMAT_PER_HIT && hits != 0)
        clp_number_set_decimal(cell, value * report->scalar / hits, column->width);
    else if (column->format == CLP_FORMAT_PERCENT && total != 0)
        clp_number_set_decimal(cell, share(value, total), column->width);
    else if (column->format == CLP_FORMAT_BYTES && measures->rss != 0)
        clp_number_set_bytes(cell, value);
}

static void set_row(const struct report *report, const struct clp_profile_line *line,
                    uint64_t total, struct row *row)
{
    const struct clp_measures *measures = &line->measures;

    *row = (struct row){0};
    if (measures->hits == 0 && line_time(report, measures) == 0)
        return; /* never executed */
    for (size_t i = 0; i < report->column_count; i++)
        set_cell(report, &columns[report->columns[i]], measures, (double)total, &row->cells[i]);
}

/* ---- the table ---- */

struct table {
    const struct clp_profile_function *function;
    size_t line_width, widths[CLP_REPORT_MAX_COLUMNS];
    size_t next;       /* the first of function->lines not yet shown */
    int64_t line;      /* the next row's line number */
};

static clp_status set_rows(struct report *report, const struct clp_profile_function *function)
{
    uint64_t total = total_time(report, function);

    if (function->line_count > report->row_room) {
        void *rows = report->rows;
        clp_status status = clp_mem_grow(report->out->mem, &rows, &report->row_room,
                                         function->line_count, sizeof *report->rows);
        if (status != CLP_OK)
            return status;
        report->rows = rows;
    }
    for (size_t i = 0; i < function->line_count; i++)
        set_row(report, &function->lines[i], total, &report->rows[i]);
    return CLP_OK;
}

static void set_widths(const struct report *report, struct table *table)
{
    table->line_width = strlen(line_title);
    for (size_t column = 0; column < report->column_count; column++) {
        table->widths[column] = columns[report->columns[column]].width;
        for (size_t i = 0; i < table->function->line_count; i++) {
            size_t bytes = strlen(report->rows[i].cells[column].text);
            if (bytes > table->widths[column])
                table->widths[column] = bytes;
        }
    }
}

static void add_header(struct report *report, const struct table *table)
{
    size_t start = report->out->used;

    clp_number_add(report->out, table->line_width, line_title);
    for (size_t column = 0; column < report->column_count; column++)
        clp_number_add(report->out, table->widths[column] + 1, columns[report->columns[column]].title);
    clp_buf_add_text(report->out, "  Line Contents");
    size_t bytes = report->out->used - start;
    clp_buf_add_text(report->out, "\n");
    clp_buf_add_repeated(report->out, '=', bytes);
    clp_buf_add_text(report->out, "\n");
}

static void add_row(struct report *report, struct table *table, struct clp_span contents)
{
    const struct clp_profile_function *function = table->function;
    const struct row *row = NULL;
    bool running = false;
    char number[CLP_NUMBER_BYTES];

    if (table->next < function->line_count && function->lines[table->next].line == table->line) {
        running = function->lines[table->next].running;
        row = &report->rows[table->next++];
    }
    snprintf(number, sizeof number, "%lld", (long long)table->line++);
    clp_number_add(report->out, table->line_width, number);
    for (size_t column = 0; column < report->column_count; column++)
        clp_number_add(report->out, table->widths[column] + 1, row == NULL ? "" : row->cells[column].text);
    clp_buf_add(report->out, running ? " >" : "  ", 2);
    clp_shown_add(report->out, contents.text, contents.bytes);
    clp_buf_add(report->out, "\n", 1);
}

static const struct clp_span no_contents = {"", 0};

/* Lines with data up to (not including) `end`, and nothing between them. */
static void add_lone_rows(struct report *report, struct table *table, int64_t end)
{
    const struct clp_profile_function *function = table->function;

    while (table->next < function->line_count && function->lines[table->next].line < end) {
        table->line = function->lines[table->next].line;
        add_row(report, table, no_contents);
    }
}

/* Without source: every row from the first line to the last that has data, as line_profiler does,
 * as long as there are not too many between them. */
static void add_bare_rows(struct report *report, struct table *table)
{
    const struct clp_profile_function *function = table->function;

    if (function->line_count == 0)
        add_row(report, table, no_contents);
    while (table->next < function->line_count) {
        int64_t gap = function->lines[table->next].line - table->line;
        if (gap > report->blanks_left)
            break;
        report->blanks_left -= gap;
        for (; gap >= 0; gap--)
            add_row(report, table, no_contents);
    }
}

static void add_rows(struct report *report, struct table *table)
{
    const struct clp_profile_function *function = table->function;
    struct clp_span rest = {function->source, function->source_bytes}, line;

    add_lone_rows(report, table, function->first_line);
    table->line = function->first_line;
    if (function->source == NULL)
        add_bare_rows(report, table);
    else
        while (clp_source_next_line(&rest, &line))
            add_row(report, table, line);
    add_lone_rows(report, table, INT64_MAX);
}

/* line_profiler names neither file nor function above a table without source, and the plain table
 * follows it to the character; ours need not. */
static void add_place(struct report *report, const struct clp_profile_function *function)
{
    bool has_source = function->source != NULL;

    if (has_source || report->memory) {
        clp_buf_add_text(report->out, "File: ");
        add_file(report, function->file);
        clp_buf_add_text(report->out, "\nFunction: ");
        add_name(report->out, function->name);
        clp_buf_add_format(report->out, " at line %d\n", (int)function->first_line);
    }
    if (has_source)
        return;
    clp_buf_add_text(report->out, "\nCould not find file ");
    add_file(report, function->file);
    clp_buf_add_text(report->out,
                     "\nAre you sure you are running this program from the same directory\n"
                     "that you ran the profiler from?\n"
                     "Continuing without the function's contents.\n");
}

static clp_status add_function(struct report *report, const struct clp_profile_function *function)
{
    struct table table = {.function = function};

    if (report->options->skip_zero && !was_hit(function))
        return CLP_OK;
    clp_status status = set_rows(report, function);
    if (status != CLP_OK)
        return status;
    set_widths(report, &table);
    clp_buf_add_format(report->out, "Total time: %g s\n",
                       (double)total_time(report, function) * 1e-9);
    add_place(report, function);
    clp_buf_add_text(report->out, "\n");
    add_header(report, &table);
    add_rows(report, &table);
    clp_buf_add_text(report->out, "\n");
    return CLP_OK;
}

/* ---- the whole ---- */

struct place {
    uint64_t total;
    double key;
    const char *name; /* as a key; or NULL */
    size_t index;
};

/* Ascending; equal ones stay in selection order. */
static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    int names = a->name != NULL ? strcmp(a->name, b->name) : 0;

    if (names != 0)
        return names;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

/* Of all lines the sum, of resident sizes the largest. */
static double key_of_lines(const struct report *report,
                           const struct clp_profile_function *function, enum value value)
{
    double key = 0;

    for (size_t i = 0; i < function->line_count; i++) {
        double at_line = value_of(report, &function->lines[i].measures, value);
        if (value != CLP_VALUE_rss)
            key += at_line;
        else if (at_line > key)
            key = at_line;
    }
    return key;
}

static double key_of(const struct report *report, const struct clp_profile_function *function,
                     uint64_t total)
{
    switch (report->options->order) {
    case CLP_REPORT_BY_TIME:
        return (double)total;
    case CLP_REPORT_BY_SELF:
        return key_of_lines(report, function, CLP_VALUE_self);
    case CLP_REPORT_BY_MEM:
        return key_of_lines(report, function, CLP_VALUE_rss);
    case CLP_REPORT_BY_INCREMENT:
        return key_of_lines(report, function, CLP_VALUE_increment);
    case CLP_REPORT_BY_HITS:
        return key_of_lines(report, function, CLP_VALUE_hits);
    default:
        return 0;
    }
}

static void set_order(const struct report *report, struct place *order)
{
    const struct clp_profile *profile = report->profile;

    for (size_t i = 0; i < profile->function_count; i++) {
        const struct clp_profile_function *function = &profile->functions[i];
        uint64_t total = total_time(report, function);
        bool by_name = report->options->order == CLP_REPORT_BY_NAME;
        order[i] = (struct place){total, key_of(report, function, total),
                                  by_name ? function->name : NULL, i};
    }
    if (profile->function_count > 1)
        qsort(order, profile->function_count, sizeof *order, compare_places);
}

static void add_summary(struct report *report, const struct place *order)
{
    for (size_t i = 0; i < report->profile->function_count; i++) {
        const struct clp_profile_function *function = &report->profile->functions[order[i].index];
        if (report->options->skip_zero && order[i].total == 0)
            continue;
        clp_buf_add_format(report->out, "%6.2f seconds - ", (double)order[i].total * 1e-9);
        add_file(report, function->file);
        clp_buf_add_format(report->out, ":%d - ", (int)function->first_line);
        add_name(report->out, function->name);
        clp_buf_add_text(report->out, "\n");
    }
}

/* What the numbers above are worth: who counted, what that cost, how exact memory is. */
static void add_footer(struct report *report)
{
    const struct clp_profile_meta *meta = &report->profile->meta;
    struct clp_buf *out = report->out;

    if (report->options->summarize)
        clp_buf_add_text(out, "\n");
    clp_buf_add_text(out, "Profiled by clineprof");
    if (meta->tracer != NULL) {
        clp_buf_add_text(out, ", tracer ");
        add_name(out, meta->tracer);
    }
    clp_buf_add_format(out, ": %llu events cost about %.2g s, ", (unsigned long long)meta->events,
                       (double)meta->overhead * 1e-9);
    if (meta->overhead_error != 0)
        clp_buf_add_format(out, "give or take %.1g s, ", (double)meta->overhead_error * 1e-9);
    clp_buf_add_format(out, "%s the lines; ", report->options->raw_times ? "left in" : "taken off");
    clp_buf_add_format(out, "resident memory read %llu times, ", (unsigned long long)meta->reads);
    if (meta->inexact_memory)
        clp_buf_add_format(out, "in steps of %llu bytes", (unsigned long long)meta->memory_step);
    else
        clp_buf_add_text(out, "exact to the page");
    clp_buf_add_format(out, ", own %.3f MiB left out.\n",
                       (double)meta->own_bytes / (1024 * 1024));
}

static clp_status add_report(struct report *report)
{
    const struct clp_profile *profile = report->profile;
    clp_status status = CLP_OK;
    struct place *order = clp_mem_alloc(report->out->mem, profile->function_count, sizeof *order);

    if (order == NULL && profile->function_count != 0)
        return CLP_NO_MEMORY;
    set_order(report, order);
    clp_buf_add_format(report->out, "Timer unit: %g s\n\n", report->options->unit);
    for (size_t i = 0; i < profile->function_count && status == CLP_OK; i++)
        status = add_function(report, &profile->functions[order[i].index]);
    if (report->options->summarize)
        add_summary(report, order);
    if (report->memory)
        add_footer(report);
    clp_mem_free(report->out->mem, order, profile->function_count, sizeof *order);
    return status == CLP_OK && report->out->failed ? CLP_NO_MEMORY : status;
}

static size_t folder_bytes(const char *folder)
{
    size_t bytes = folder == NULL ? 0 : strlen(folder);

    while (bytes > 0 && folder[bytes - 1] == '/')
        bytes--;
    return bytes;
}

static bool is_of_memory(const struct report *report, size_t place)
{
    return columns[report->columns[place]].format == CLP_FORMAT_BYTES;
}

/* By --self, and with memory. */
static const char *const usual_columns[2][2] = {
    {"hits,time,per-hit,percent", "hits,time,per-hit,percent,mem,increment"},
    {"hits,time,per-hit,percent,self,self-percent",
     "hits,time,per-hit,percent,self,self-percent,mem,increment,self-increment"},
};

static void choose_columns(struct report *report)
{
    const struct clp_report_options *options = report->options;
    bool memory = report->profile->meta.has_memory && !options->no_memory;

    struct clp_report_options usual = *options;
    size_t bytes;

    if (usual.column_count == 0)
        (void)clp_report_set_columns(&usual, usual_columns[options->self][memory], &bytes);
    report->column_count = usual.column_count;
    memcpy(report->columns, usual.columns, sizeof report->columns);
    for (size_t i = 0; i < report->column_count; i++)
        report->memory |= is_of_memory(report, i);
}

clp_status clp_report_text(const struct clp_profile *profile,
                           const struct clp_report_options *options, struct clp_buf *out)
{
    struct report report = {
        .profile = profile,
        .options = options,
        .out = out,
        .scalar = 1e-9 / options->unit,
        .folder = folder_bytes(options->folder),
        .blanks_left = CLP_REPORT_MAX_BLANKS,
    };
    choose_columns(&report);
    /* The profiled program may have set a locale that writes 0,9 for 0.9. */
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    locale_t before = plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;

    clp_status status = add_report(&report);
    clp_mem_free(out->mem, report.rows, report.row_room, sizeof *report.rows);
    if (plain != (locale_t)0) {
        uselocale(before);
        freelocale(plain);
    }
    return status;
}
