/* SPDX-License-Identifier: MIT */
#include "memory_table.h"
#include "base/number.h"
#include "base/escape.h"
#include "profile/source.h"
#include "formats/lprof/wire_rows.h"
#include <stdio.h>
#include <string.h>

#define MIB_BITS 20
#define CELL 40

static const char titles[] =
    "Line #    Mem usage    Increment  Occurrences   Line Contents\n"
    "=============================================================\n";

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
static void add_mib(struct clp_buf *out, int64_t bytes, size_t precision)
{
    char number[CELL], padded[2 * CELL];

    format_mib(number, bytes, precision);
    snprintf(padded, sizeof padded, "%*s MiB", (int)precision + 4, number);
    clp_buf_add_text(out, " ");
    clp_number_add(out, 12, padded);
}

static void add_row(struct clp_buf *out, int64_t line, const struct row *row, size_t precision,
                    struct clp_span text)
{
    clp_buf_add_format(out, "%6lld", (long long)line);
    if (row->occurrences != 0) {
        add_mib(out, row->usage, precision);
        add_mib(out, row->increment, precision);
        clp_buf_add_format(out, "  %10llu   ", (unsigned long long)row->occurrences);
    } else {
        clp_buf_add_repeated(out, ' ', 41);
    }
    clp_escape_add(out, text.text, text.bytes);
    clp_buf_add_text(out, "\n");
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
    const struct clp_profile_function *function;
    const struct clp_memory_table_options *options;
    struct row entry;
    struct clp_wire_rows rows; /* at the first line not yet shown */
};

static void add_line(struct clp_buf *out, struct body *body, int64_t line, struct clp_span text)
{
    const struct clp_profile_function *function = body->function;
    struct row row = line == function->first_line ? body->entry : (struct row){0};

    for (; body->rows.at != NULL && body->rows.at->line <= line; clp_wire_rows_next(&body->rows))
        if (body->rows.at->line == line)
            add_measures(&row, &body->rows.at->measures);
    add_row(out, line, &row, body->options->precision, text);
    clp_drain_long(&body->options->drain, out);
}

/* Adds the rows of a function without source: its first line and the lines that ran. */
static void add_bare_lines(struct clp_buf *out, struct body *body)
{
    const struct clp_profile_function *function = body->function;
    const struct clp_span nothing = {"", 0};

    if (body->rows.at->line > function->first_line)
        add_line(out, body, function->first_line, nothing);
    while (body->rows.at != NULL)
        add_line(out, body, body->rows.at->line, nothing);
}

static void add_function(struct clp_buf *out, const struct clp_profile *profile,
                         const struct clp_profile_function *function,
                         const struct clp_memory_table_options *options)
{
    struct body body = {.function = function, .options = options,
                        .entry = at_entry(profile, function)};
    struct clp_span rest = {function->source, function->source_bytes}, text;
    int64_t line = function->first_line;

    if (body.entry.occurrences == 0)
        return; /* the function never ran */
    clp_wire_rows_start(&body.rows, profile, function);
    clp_buf_add_text(out, "Filename: ");
    clp_escape_add_file(out, function->file, options->folder);
    clp_buf_add_text(out, "\n\n");
    clp_buf_add_text(out, titles);
    if (function->source == NULL)
        add_bare_lines(out, &body);
    else
        while (clp_source_next_line(&rest, &text))
            add_line(out, &body, line++, text);
    clp_buf_add_text(out, "\n\n");
}

clp_status clp_memory_table_text(const struct clp_profile *profile,
                                 const struct clp_memory_table_options *options,
                                 struct clp_buf *out)
{
    struct clp_choice choice;
    clp_status status = clp_choice_make(&choice, profile, &options->choice, out->mem);

    if (status != CLP_OK)
        return status;
    for (size_t i = 0; i < choice.count; i++)
        add_function(out, profile, &profile->functions[choice.places[i]], options);
    clp_choice_clear(&choice);
    return out->failed ? CLP_NO_MEMORY : CLP_OK;
}
