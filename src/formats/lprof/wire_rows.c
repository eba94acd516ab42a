/* SPDX-License-Identifier: MIT */
#include "wire_rows.h"
#include "wire_split.h"
#include <string.h>

/* Reads one measure of a line from its column. */
static clp_status read_cell(struct clp_decoder *decoder, const struct clp_wire_column *column,
                            struct clp_msgpack_check *check, struct clp_measures *measures)
{
    uint64_t value;
    bool negative;

    if (!clp_msgpack_check_number(check, &value, &negative) || (negative && !column->is_signed) ||
        (column->is_signed && !negative && value > INT64_MAX) ||
        (column->is_time && !clp_profile_scale_time(decoder->scale, &value)))
        return refuse_here(decoder, column->not_number);
    memcpy((char *)measures + column->at, &value, sizeof value);
    return CLP_OK;
}

clp_status clp_wire_read_row(struct clp_decoder *decoder, struct clp_wire_columns *columns,
                             struct clp_profile_line *row)
{
    uint64_t line;
    bool negative;

    *row = (struct clp_profile_line){0};
    if (!clp_msgpack_check_number(&columns->walks[0], &line, &negative) || negative || line > INT32_MAX)
        return refuse_here(decoder, "column \"line\" holds something that is not a line number");
    row->line = (int32_t)line;
    for (size_t i = 0; i < CLP_WIRE_COLUMNS; i++) {
        struct clp_msgpack_check *check = &columns->walks[i + 1];
        if (check->bytes != NULL &&
            read_cell(decoder, &clp_wire_columns[i], check, &row->measures) != CLP_OK)
            return decoder->fault->status;
    }
    return CLP_OK;
}

clp_status clp_wire_start_column(struct clp_decoder *decoder, struct clp_wire_span span,
                                 struct clp_msgpack_check *check, uint64_t *count, const char *not_list)
{
    struct clp_msgpack_check_head head;

    *check = clp_wire_walk(decoder, span);
    if (span.end == 0 || clp_msgpack_check_head(check, &head) != CLP_OK || head.kind != CLP_MSGPACK_ARRAY)
        return refuse_here(decoder, not_list);
    *count = head.count;
    check->fault = NULL; /* the items have been checked before */
    return CLP_OK;
}

clp_status clp_wire_find_columns(struct clp_decoder *decoder, struct clp_wire_span map,
                                 struct clp_wire_columns *columns)
{
    const char *names[CLP_WIRE_COLUMNS + 1] = {"line"};
    struct clp_wire_span spans[CLP_WIRE_COLUMNS + 1];
    uint64_t count;

    for (size_t i = 0; i < CLP_WIRE_COLUMNS; i++)
        names[i + 1] = clp_wire_columns[i].name;
    if (clp_wire_split(decoder, map, names, CLP_WIRE_COLUMNS + 1, spans) != CLP_OK ||
        clp_wire_start_column(decoder, spans[0], &columns->walks[0], &columns->count,
                              "column \"line\" is missing or not a list") != CLP_OK)
        return decoder->fault->status;
    for (size_t i = 0; i < CLP_WIRE_COLUMNS; i++) {
        const struct clp_wire_column *column = &clp_wire_columns[i];
        columns->walks[i + 1].bytes = NULL;
        if (spans[i + 1].end == 0)
            continue;
        if (clp_wire_start_column(decoder, spans[i + 1], &columns->walks[i + 1], &count,
                                  column->not_list) != CLP_OK)
            return decoder->fault->status;
        if (count != columns->count)
            return refuse_here(decoder, column->not_as_long);
    }
    return CLP_OK;
}

/* ---- reading lines one by one ---- */

void clp_wire_rows_start(struct clp_wire_rows *rows, const struct clp_profile *profile,
                         const struct clp_profile_function *function)
{
    struct clp_fault fault;
    struct clp_decoder decoder = {.bytes = function->packed, .fault = &fault};

    rows->function = function;
    rows->scale = profile->file_scale;
    rows->gc_apart = profile->gc_apart;
    rows->next = 0;
    if (function->packed != NULL)
        (void)clp_wire_find_columns(&decoder, (struct clp_wire_span){0, function->packed_bytes},
                           &rows->columns);
    clp_wire_rows_next(rows);
}

static uint64_t less(uint64_t value, uint64_t part)
{
    return value > part ? value - part : 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Older files do not say how much of the collections was waiting. It was at least what is no processor time. */
static void find_gc_wait(struct clp_measures *measures)
{
    uint64_t least = smaller(less(measures->gc, measures->cpu), measures->wait);

    if (measures->gc_wait < least)
        measures->gc_wait = least;
}

/* Collections may run in what the line calls, or beside it: what it calls keeps what the line has left. */
static void take_gc_off(struct clp_measures *measures)
{
    find_gc_wait(measures);
    measures->time = less(measures->time, measures->gc);
    measures->raw_time = less(measures->raw_time, measures->gc);
    measures->self = less(measures->self, measures->gc);
    measures->raw_self = less(measures->raw_self, measures->gc);
    measures->cpu = less(measures->cpu, less(measures->gc, measures->gc_wait));
    measures->wait = less(measures->wait, measures->gc_wait);
    measures->queue = smaller(less(measures->queue, measures->gc_queue), measures->wait);
    measures->native_time = smaller(measures->native_time, measures->self);
    measures->library = smaller(measures->library, measures->self - measures->native_time);
}

void clp_wire_rows_next(struct clp_wire_rows *rows)
{
    const struct clp_profile_function *function = rows->function;
    struct clp_fault fault;
    struct clp_decoder decoder = {.fault = &fault, .scale = rows->scale};

    rows->at = NULL;
    if (rows->next == function->line_count)
        return;
    if (function->packed != NULL)
        (void)clp_wire_read_row(&decoder, &rows->columns, &rows->row);
    else if (rows->gc_apart)
        rows->row = function->lines[rows->next];
    if (rows->gc_apart)
        take_gc_off(&rows->row.measures);
    rows->at = function->packed != NULL || rows->gc_apart ? &rows->row : &function->lines[rows->next];
    rows->next++;
}
