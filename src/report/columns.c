/* SPDX-License-Identifier: MIT */
#include "columns.h"
#include "formats/lprof/wire_rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fewer bytes would be printed as 0.000 MiB. */
#define LEAST_BYTES (0.0005 * 1024 * 1024)

static const struct clp_column all[CLP_COLUMNS_ALL] = {
#define CLP_COLUMN_ROW(field, type, merge, kind, needs, page, width, name, title, about) \
    {name, title, width, CLP_COLUMN_AMOUNT, CLP_MEASURE_##field},
    CLP_MEASURE_TABLE(CLP_COLUMN_ROW, CLP_COLUMN_ROW)
#undef CLP_COLUMN_ROW
#define CLP_COLUMN_ROW(name, title, width, form, measure) \
    {name, title, width, CLP_COLUMN_##form, CLP_MEASURE_##measure},
    CLP_COLUMN_FORMS(CLP_COLUMN_ROW)
#undef CLP_COLUMN_ROW
};

static const struct clp_column *named(const char *name, size_t bytes)
{
    for (size_t i = 0; i < CLP_COLUMNS_ALL; i++)
        if (strncmp(all[i].name, name, bytes) == 0 && all[i].name[bytes] == 0)
            return &all[i];
    return NULL;
}

const char *clp_columns_parse(struct clp_columns *columns, const char *names, size_t *bytes)
{
    struct clp_columns found = {.count = 0};

    for (;; names += *bytes + 1) {
        *bytes = strcspn(names, ",");
        const struct clp_column *column = named(names, *bytes);
        if (column == NULL)
            return names;
        if (found.count == CLP_COLUMNS_MOST)
            return "";
        found.items[found.count++] = column;
        if (names[*bytes] == 0)
            break;
    }
    *columns = found;
    return NULL;
}

void clp_columns_add(struct clp_columns *columns, const char *name)
{
    if (columns->count < CLP_COLUMNS_MOST)
        columns->items[columns->count++] = named(name, strlen(name));
}

static size_t *width_named(struct clp_widths *widths, const char *name, size_t bytes)
{
    const struct clp_column *column = named(name, bytes);

    if (bytes == 4 && strncmp(name, "line", bytes) == 0)
        return &widths->line;
    return column != NULL ? &widths->columns[column - all] : NULL;
}

bool clp_widths_parse(struct clp_widths *widths, const char *text)
{
    struct clp_widths found = {0};

    for (;;) {
        size_t bytes = strcspn(text, "=,"), *width = width_named(&found, text, bytes);
        char *end;
        if (width == NULL || text[bytes] != '=' || text[bytes + 1] < '1' || text[bytes + 1] > '9')
            return false;
        *width = strtoul(text + bytes + 1, &end, 10);
        if (*width > CLP_WIDTH_MOST || (*end != 0 && *end != ','))
            return false;
        if (*end == 0)
            break;
        text = end + 1;
    }
    *widths = found;
    return true;
}

/* A time in the unit that fits it takes less room than one in the unit of the report. */
static size_t usual_width(const struct clp_column *column, const struct clp_column_scale *scale)
{
    bool is_share = column->form == CLP_COLUMN_PERCENT || column->form == CLP_COLUMN_SHARE;

    return scale->scalar == 0 && !is_share && clp_measure_rows[column->measure].kind == CLP_MEASURE_NANOS
               ? CLP_NUMBER_TIME_WIDTH
               : column->width;
}

size_t clp_widths_of(const struct clp_widths *widths, const struct clp_column *column,
                     const struct clp_column_scale *scale)
{
    size_t least = widths->columns[column - all], usual = usual_width(column, scale);

    return least > usual ? least : usual;
}

void clp_columns_add_names(struct clp_buf *out)
{
    for (size_t i = 0; i < CLP_COLUMNS_ALL; i++)
        clp_buf_add_format(out, "%s%s", i == 0 ? "" : ",", all[i].name);
}

#define TELLS_IN_ALL (1 << 20)
#define TELLS_EACH_TIME (64 << 10)
#define TELLS_UNTIL_GROWN 0.25

static bool allocated_tells(const struct clp_measures *measures)
{
    double allocated = (double)measures->allocated;

    return measures->rss != 0 && allocated >= TELLS_IN_ALL &&
           allocated >= TELLS_EACH_TIME * (double)measures->hits &&
           (double)clp_measures_increment(measures) < TELLS_UNTIL_GROWN * allocated;
}

static bool await_tells(const struct clp_measures *measures)
{
    return measures->await != 0;
}

static bool any_line(const struct clp_profile *profile, bool (*tells)(const struct clp_measures *measures))
{
    struct clp_wire_rows rows;

    for (uint32_t i = 0; i < profile->function_count; i++)
        for (clp_wire_rows_start(&rows, profile, &profile->functions[i]); rows.at != NULL;
             clp_wire_rows_next(&rows))
            if (tells(&rows.at->measures))
                return true;
    return false;
}

bool clp_columns_allocated_tells(const struct clp_profile *profile)
{
    return any_line(profile, allocated_tells);
}

bool clp_columns_await_tells(const struct clp_profile *profile)
{
    return any_line(profile, await_tells);
}

bool clp_columns_gc_tells(const struct clp_profile *profile)
{
    double self = 0, gc = 0;
    struct clp_wire_rows rows;

    for (uint32_t i = 0; i < profile->function_count; i++)
        for (clp_wire_rows_start(&rows, profile, &profile->functions[i]); rows.at != NULL;
             clp_wire_rows_next(&rows)) {
            self += (double)rows.at->measures.self;
            gc += (double)rows.at->measures.gc;
        }
    return gc != 0 && gc * 1000 >= self;
}

bool clp_columns_have(const struct clp_columns *columns, enum clp_measure measure)
{
    for (size_t i = 0; i < columns->count; i++)
        if (columns->items[i]->measure == measure)
            return true;
    return false;
}

double clp_column_share(double part, double total)
{
    return part < total ? 100 * part / total : 100;
}

static void set_time(const struct clp_column_scale *scale, double nanos, size_t width, struct clp_number *cell)
{
    if (scale->scalar == 0)
        clp_number_set_time(cell, nanos);
    else
        clp_number_set_decimal(cell, nanos * scale->scalar, width);
}

/* Multiplies first, as line_profiler does, so that what lies between two numbers is rounded to the same one. */
static void set_per_hit(const struct clp_column_scale *scale, double nanos, double hits, size_t width,
                        struct clp_number *cell)
{
    if (scale->scalar == 0)
        clp_number_set_time(cell, nanos / hits);
    else
        clp_number_set_decimal(cell, nanos * scale->scalar / hits, width);
}

static void set_share(double part, double total, size_t width, struct clp_number *cell)
{
    if (total != 0)
        clp_number_set_decimal(cell, clp_column_share(part, total), width);
}

static void set_amount(enum clp_measure measure, const struct clp_column_scale *scale,
                       const struct clp_measures *measures, size_t width, struct clp_number *cell)
{
    const struct clp_measure_row *row = &clp_measure_rows[measure];
    double value = clp_measure_value(measure, measures);
    bool is_size = measure == CLP_MEASURE_rss; /* an amount of memory, not a change of it: its 0 is shown */

    bool seen = measures->rss != 0 || (row->needs > CLP_NEEDS_MEMORY && value != 0); /* without events only blocks are */

    if (row->needs >= CLP_NEEDS_MEMORY && !seen)
        return;
    if (row->kind == CLP_MEASURE_NANOS)
        set_time(scale, value, width, cell);
    else if (row->kind == CLP_MEASURE_COUNT)
        clp_number_set_count(cell, value, width);
    else if (is_size || fabs(value) >= LEAST_BYTES)
        clp_number_set_bytes(cell, value);
}

void clp_column_set_cell(const struct clp_column *column, const struct clp_column_scale *scale,
                         const struct clp_measures *measures, const struct clp_column_totals *totals,
                         struct clp_number *cell)
{
    enum clp_measure measure = scale->raw_times ? clp_measure_raw(column->measure) : column->measure;
    double value = clp_measure_value(measure, measures);

    if (column->form == CLP_COLUMN_AMOUNT)
        set_amount(measure, scale, measures, column->width, cell);
    else if (column->form == CLP_COLUMN_PER_HIT && measures->hits != 0)
        set_per_hit(scale, value, (double)measures->hits, column->width, cell);
    else if (column->form == CLP_COLUMN_PERCENT)
        set_share(value, totals->function, column->width, cell);
    else if (column->form == CLP_COLUMN_SHARE)
        set_share(value, totals->program, column->width, cell);
}
