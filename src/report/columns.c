/* SPDX-License-Identifier: MIT */
#include "columns.h"
#include "formats/lprof/wire_rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Less is 0.000 MiB. */
#define LEAST_BYTES (0.0005 * 1024 * 1024)

static const struct clp_column all[] = {
#define CLP_COLUMN_ROW(name, title, width, format, value) \
    {name, title, width, CLP_COLUMN_##format, CLP_MEASURES_##value},
    CLP_COLUMN_TABLE(CLP_COLUMN_ROW)
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

size_t clp_widths_of(const struct clp_widths *widths, const struct clp_column *column)
{
    size_t least = widths->columns[column - all];

    return least > column->width ? least : column->width;
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

bool clp_columns_allocated_tells(const struct clp_profile *profile)
{
    struct clp_wire_rows rows;

    for (uint32_t i = 0; i < profile->function_count; i++)
        for (clp_wire_rows_start(&rows, profile, &profile->functions[i]); rows.at != NULL;
             clp_wire_rows_next(&rows))
            if (allocated_tells(&rows.at->measures))
                return true;
    return false;
}

const char *clp_column_lacks(const struct clp_column *column, const struct clp_profile_meta *meta)
{
    if (!clp_column_is_memory(column))
        return NULL;
    switch (column->value) {
    case CLP_MEASURES_live:
    case CLP_MEASURES_live_blocks:
    case CLP_MEASURES_heap_peak:
    case CLP_MEASURES_freed_in_line:
        return meta->heap_interval != 0 ? NULL : "--heap or --leaks";
    case CLP_MEASURES_native:
    case CLP_MEASURES_native_blocks:
        return meta->heap_native != 0 ? NULL : "--heap=native";
    default:
        return meta->has_memory ? NULL : "memory, which --no-memory leaves out";
    }
}

double clp_column_share(double part, double total)
{
    return part < total ? 100 * part / total : 100;
}

static enum clp_measures_field raw_of(enum clp_measures_field value)
{
    return value == CLP_MEASURES_time   ? CLP_MEASURES_raw_time
           : value == CLP_MEASURES_self ? CLP_MEASURES_raw_self
                                            : value;
}

void clp_column_set_cell(const struct clp_column *column, const struct clp_column_scale *scale,
                         const struct clp_measures *measures, double total,
                         struct clp_number *cell)
{
    double value =
        clp_measures_value(measures, scale->raw_times ? raw_of(column->value) : column->value);
    double hits = (double)measures->hits;

    if (column->format == CLP_COLUMN_COUNT)
        clp_number_set_count(cell, measures->hits, column->width);
    else if (column->format == CLP_COLUMN_TICKS)
        clp_number_set_decimal(cell, value * scale->scalar, column->width);
    else if (column->format == CLP_COLUMN_PER_HIT && hits != 0)
        clp_number_set_decimal(cell, value * scale->scalar / hits, column->width);
    else if (column->format == CLP_COLUMN_PERCENT && total != 0)
        clp_number_set_decimal(cell, clp_column_share(value, total), column->width);
    else if (column->format == CLP_COLUMN_BYTES && measures->rss != 0 &&
             (column->value == CLP_MEASURES_rss || fabs(value) >= LEAST_BYTES))
        clp_number_set_bytes(cell, value);
    else if (column->format == CLP_COLUMN_NUMBER && measures->rss != 0)
        clp_number_set_count(cell, (uint64_t)value, column->width);
}
