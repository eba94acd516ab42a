/* SPDX-License-Identifier: MIT */
#include "memory_table.h"
#include "base/number.h"
#include "base/escape.h"
#include "profile/source.h"
#include "table.h"
#include "formats/lprof/wire_rows.h"
#include <stdio.h>
#include <string.h>

#define MIB_BITS 20
#define CELL 40

#define LINE_WIDTH 6
#define BYTES_WIDTH 13
#define COUNT_WIDTH 13

static void add_titles(const struct clp_table *table)
{
    static const char last[] = "   Line Contents";

    clp_table_start_titles(table);
    clp_table_add_title(table, 'n', LINE_WIDTH, "Line #");
    clp_table_add_title(table, 'b', BYTES_WIDTH, "Mem usage");
    clp_table_add_title(table, 'b', BYTES_WIDTH, "Increment");
    clp_table_add_title(table, 'c', COUNT_WIDTH, "Occurrences");
    clp_table_end_titles(table, 's', table->marked ? last + 1 : last,
                         LINE_WIDTH + 2 * BYTES_WIDTH + COUNT_WIDTH + strlen(last));
}

/* What a row shows: the usage and the increment in bytes. A row with 0 occurrences shows only the line's text. */
struct row {
    int64_t usage, increment;
    uint64_t occurrences;
};

/* Writes bytes as MiB. Rounds an exact half to the even digit, as printf and Python do, and keeps the minus sign of a
 * number that is rounded to 0. printf cannot be used: it writes the decimal point of the program's locale. */
static void format_mib(char text[CELL], int64_t bytes, size_t precision)
{
    uint64_t size = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes, power = 1;
    const uint64_t half = UINT64_C(1) << (MIB_BITS - 1);

    for (size_t i = 0; i < precision; i++)
        power *= 10;
    uint64_t whole = size >> MIB_BITS, rest = (size & (2 * half - 1)) * power;
    uint64_t part = rest >> MIB_BITS;
    rest &= 2 * half - 1;
    bool odd = (precision == 0 ? whole : part) & 1;
    part += rest > half || (rest == half && odd);
    whole += part / power;
    int used = snprintf(text, CELL, "%s%llu", bytes < 0 ? "-" : "", (unsigned long long)whole);
    if (precision != 0)
        snprintf(text + used, CELL - (size_t)used, ".%0*llu", (int)precision,
                 (unsigned long long)(part % power));
}

/* Adds a number as memory_profiler's "{:7.3f} MiB" writes it, and then aligned to the right in its column. */
static void add_mib(const struct clp_table *table, int64_t bytes, size_t precision)
{
    char number[CELL], padded[2 * CELL] = " "; /* two numbers that are too wide are not to run together */

    format_mib(number, bytes, precision);
    snprintf(padded + 1, sizeof padded - 1, "%*s MiB", (int)precision + 4, number);
    clp_table_add_cell(table, BYTES_WIDTH, padded);
}

static void add_row(const struct clp_table *table, int64_t line, const struct row *row, size_t precision,
                    struct clp_span text)
{
    struct clp_table_row heat = {0};
    char number[CELL];

    heat.heat_memory = table->whole.moved != 0 ? clp_column_share((double)row->increment, table->whole.moved) : 0;
    clp_table_start_row(table, &heat);
    snprintf(number, sizeof number, "%lld", (long long)line);
    clp_table_add_cell(table, LINE_WIDTH, number);
    if (row->occurrences != 0) {
        add_mib(table, row->usage, precision);
        add_mib(table, row->increment, precision);
        snprintf(number, sizeof number, "  %10llu", (unsigned long long)row->occurrences);
        clp_table_add_cell(table, COUNT_WIDTH - 1, number);
    } else {
        clp_table_add_cell(table, BYTES_WIDTH, "");
        clp_table_add_cell(table, BYTES_WIDTH, "");
        clp_table_add_cell(table, COUNT_WIDTH - 1, "");
    }
    clp_table_add_source(table, table->marked ? "  " : "   ", text);
}

/* Computes the row of the function's entry: the memory before the first executed line, and that line's hits. Returns
 * an empty row for a function that never ran. */
static struct row at_entry(const struct clp_profile *profile,
                           const struct clp_profile_function *function)
{
    struct clp_wire_rows rows;

    clp_wire_rows_start(&rows, profile, function);
    for (; rows.at != NULL; clp_wire_rows_next(&rows)) {
        const struct clp_measures *first = &rows.at->measures;
        if (first->hits == 0)
            continue;
        int64_t each = clp_measures_increment(first) / (int64_t)(first->hits < INT64_MAX
                                                                     ? first->hits : INT64_MAX);
        int64_t usage = first->rss < INT64_MAX / 2 ? (int64_t)first->rss : INT64_MAX / 2;
        usage -= each < INT64_MAX / 2 && each > -INT64_MAX / 2 ? each : 0;
        return (struct row){usage, usage, first->hits};
    }
    return (struct row){0};
}

static void add_measures(struct row *row, const struct clp_measures *measures)
{
    int64_t usage = measures->rss < INT64_MAX ? (int64_t)measures->rss : INT64_MAX;
    int64_t increment = clp_measures_increment(measures), sum;

    if (measures->hits == 0)
        return;
    if (usage > row->usage)
        row->usage = usage;
    row->increment = __builtin_add_overflow(row->increment, increment, &sum) ? increment : sum;
    if (__builtin_add_overflow(row->occurrences, measures->hits, &row->occurrences))
        row->occurrences = UINT64_MAX;
}

struct body {
    const struct clp_table *table; /* writes titles and cells */
    const struct clp_profile_function *function;
    const struct clp_memory_table_options *options;
    struct row entry;
    struct clp_wire_rows rows; /* at the first line not yet shown */
};

static void add_line(struct body *body, int64_t line, struct clp_span text)
{
    const struct clp_profile_function *function = body->function;
    struct row row = line == function->first_line ? body->entry : (struct row){0};

    for (; body->rows.at != NULL && body->rows.at->line <= line; clp_wire_rows_next(&body->rows))
        if (body->rows.at->line == line)
            add_measures(&row, &body->rows.at->measures);
    add_row(body->table, line, &row, body->options->precision, text);
    clp_drain_long(&body->options->drain, body->table->out);
}

/* Adds the rows of a function without source: its first line and the lines that ran. */
static void add_bare_lines(struct body *body)
{
    const struct clp_profile_function *function = body->function;
    const struct clp_span nothing = {"", 0};

    if (body->rows.at->line > function->first_line)
        add_line(body, function->first_line, nothing);
    while (body->rows.at != NULL)
        add_line(body, body->rows.at->line, nothing);
}

static void add_function(const struct clp_table *table, const struct clp_profile *profile,
                         const struct clp_profile_function *function,
                         const struct clp_memory_table_options *options)
{
    struct body body = {.table = table, .function = function, .options = options,
                        .entry = at_entry(profile, function)};
    struct clp_buf *out = table->out;
    struct clp_span rest = {function->source, function->source_bytes}, text;
    int64_t line = function->first_line;

    if (body.entry.occurrences == 0)
        return; /* the function never ran */
    clp_wire_rows_start(&body.rows, profile, function);
    clp_buf_add_text(out, table->marked ? CLP_MARK_HEADING "Filename: " : "Filename: ");
    clp_escape_add_file(out, function->file, options->folder);
    clp_buf_add_text(out, "\n\n");
    add_titles(table);
    if (function->source == NULL)
        add_bare_lines(&body);
    else
        while (clp_source_next_line(&rest, &text))
            add_line(&body, line++, text);
    clp_buf_add_text(out, "\n\n");
}

clp_status clp_memory_table_text(const struct clp_profile *profile,
                                 const struct clp_memory_table_options *options,
                                 struct clp_buf *out)
{
    struct clp_table table = {.out = out, .marked = options->marked};
    struct clp_choice choice;
    clp_status status = clp_choice_make(&choice, profile, &options->choice, out->mem);

    if (status != CLP_OK)
        return status;
    if (options->marked)
        table.whole = clp_whole_of(profile, false);
    for (size_t i = 0; i < choice.count; i++)
        add_function(&table, profile, &profile->functions[choice.places[i]], options);
    clp_choice_clear(&choice);
    return out->failed ? CLP_NO_MEMORY : CLP_OK;
}
