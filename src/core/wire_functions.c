/* SPDX-License-Identifier: MIT */
/* Functions of a file: each has its key, a table of lines by columns, maybe leaks and source. */
#include "wire_parts.h"

#define MOST_LEAKS 4096 /* of a function; they are merged one by one */

/* Is the measure a time, to be scaled by the file's unit? */
static bool is_time(const struct clp_wire_column *column)
{
    switch (column->at) {
    case offsetof(struct clp_measures, time):
    case offsetof(struct clp_measures, raw_time):
    case offsetof(struct clp_measures, self):
    case offsetof(struct clp_measures, raw_self):
    case offsetof(struct clp_measures, await):
    case offsetof(struct clp_measures, max):
        return true;
    default:
        return false;
    }
}

/* Finds or adds the function that the map's values name. */
static clp_status read_key(struct clp_decoder *decoder, const msgpack_object **key,
                           struct clp_profile_function **function)
{
    int32_t line;

    if (key[CLP_KEY_FILE] == NULL || !is_plain_text(key[CLP_KEY_FILE]))
        return refuse_here(decoder, "\"file\" of a function is missing or not a text");
    if (key[CLP_KEY_LINE] == NULL || !read_line_number(key[CLP_KEY_LINE], &line))
        return refuse_here(decoder, "\"line\" of a function is missing or not a line number");
    if (key[CLP_KEY_NAME] == NULL || !is_plain_text(key[CLP_KEY_NAME]))
        return refuse_here(decoder, "\"name\" of a function is missing or not a text");
    if (clp_wire_copy_text(decoder, key[CLP_KEY_FILE], &decoder->file) != CLP_OK ||
        clp_wire_copy_text(decoder, key[CLP_KEY_NAME], &decoder->name) != CLP_OK)
        return CLP_NO_MEMORY;
    if (clp_profile_add_function(decoder->profile, clp_buf_text(&decoder->file),
                                 clp_buf_text(&decoder->name), line, function) != CLP_OK)
        return no_memory(decoder);
    return CLP_OK;
}

/* Sets one measure of a line from its column. */
static clp_status read_cell(struct clp_decoder *decoder, const struct clp_wire_column *column,
                            const msgpack_object *object, struct clp_measures *measures)
{
    uint64_t value;

    if (!(column->is_signed ? read_int64(object, &value) : read_uint64(object, &value)) ||
        (is_time(column) && !clp_profile_scale_time(decoder->scale, &value)))
        return refuse_here(decoder, column->not_number);
    memcpy((char *)measures + column->at, &value, sizeof value);
    return CLP_OK;
}

/* One row of the table; lists[0] is "line", lists[i + 1] of clp_wire_columns[i], NULL where all
 * is zero. */
static clp_status read_row(struct clp_decoder *decoder, const msgpack_object **lists, uint32_t row,
                           struct clp_profile_function *function)
{
    struct clp_measures measures = {0};
    int32_t line;

    if (!read_line_number(&lists[0]->via.array.ptr[row], &line))
        return refuse_here(decoder, "column \"line\" holds something that is not a line number");
    if (row > 0 && line <= function->lines[row - 1].line)
        return refuse_here(decoder, "column \"line\" is not in ascending order");
    for (size_t i = 0; i < CLP_WIRE_COLUMNS; i++) {
        const msgpack_object *list = lists[i + 1];
        if (list != NULL &&
            read_cell(decoder, &clp_wire_columns[i], &list->via.array.ptr[row], &measures) !=
                CLP_OK)
            return decoder->fault->status;
    }
    if (clp_profile_add_line(decoder->profile, function, line, &measures) != CLP_OK)
        return no_memory(decoder);
    return CLP_OK;
}

static clp_status find_columns(struct clp_decoder *decoder, const msgpack_object *map,
                               const msgpack_object **lists)
{
    const char *names[CLP_WIRE_COLUMNS + 1] = {"line"};

    for (size_t i = 0; i < CLP_WIRE_COLUMNS; i++)
        names[i + 1] = clp_wire_columns[i].name;
    if (clp_wire_find_keys(decoder, map, names, CLP_WIRE_COLUMNS + 1, lists) != CLP_OK)
        return decoder->fault->status;
    if (lists[0] == NULL || lists[0]->type != MSGPACK_OBJECT_ARRAY)
        return refuse_here(decoder, "column \"line\" is missing or not a list");
    for (size_t i = 0; i < CLP_WIRE_COLUMNS; i++) {
        const msgpack_object *list = lists[i + 1];
        if (list != NULL && list->type != MSGPACK_OBJECT_ARRAY)
            return refuse_here(decoder, clp_wire_columns[i].not_list);
        if (list != NULL && list->via.array.size != lists[0]->via.array.size)
            return refuse_here(decoder, clp_wire_columns[i].not_as_long);
    }
    return CLP_OK;
}

static clp_status read_lines(struct clp_decoder *decoder, const msgpack_object *map,
                             struct clp_profile_function *function)
{
    const msgpack_object *lists[CLP_WIRE_COLUMNS + 1];

    if (find_columns(decoder, map, lists) != CLP_OK)
        return decoder->fault->status;
    for (uint32_t row = 0; row < lists[0]->via.array.size; row++) {
        if (read_row(decoder, lists, row, function) != CLP_OK)
            return decoder->fault->status;
    }
    return CLP_OK;
}

/* Totals are optional: without them the lines' own sum is the best there is. */
static clp_status read_totals(struct clp_decoder *decoder, const msgpack_object *total,
                              const msgpack_object *raw_total,
                              struct clp_profile_function *function)
{
    struct clp_measures sum = {0};

    for (size_t i = 0; i < function->line_count; i++)
        clp_measures_merge(&sum, &function->lines[i].measures);
    function->total = sum.time;
    function->raw_total = sum.raw_time;
    if (total != NULL && !read_time(decoder, total, &function->total))
        return refuse_here(decoder, "\"total\" of a function is not a time");
    if (raw_total != NULL && !read_time(decoder, raw_total, &function->raw_total))
        return refuse_here(decoder, "\"raw_total\" of a function is not a time");
    return CLP_OK;
}

static clp_status read_leak(struct clp_decoder *decoder, const msgpack_object *object,
                            struct clp_profile_function *function)
{
    enum { LINE, BYTES, PER_CALL, PER_SECOND, CONFIDENCE, COUNT };
    static const char *const names[COUNT] = {"line", "bytes", "bytes_per_call", "bytes_per_second",
                                             "confidence"};
    const msgpack_object *found[COUNT];
    struct clp_profile_leak leak;

    if (clp_wire_find_keys(decoder, object, names, COUNT, found) != CLP_OK)
        return decoder->fault->status;
    for (size_t i = 0; i < COUNT; i++)
        if (found[i] == NULL)
            return refuse_here(decoder, "a leak lacks one of its numbers");
    if (!read_line_number(found[LINE], &leak.line) || !read_uint64(found[BYTES], &leak.bytes) ||
        !read_number(found[PER_CALL], &leak.bytes_per_call) ||
        !read_number(found[PER_SECOND], &leak.bytes_per_second) ||
        !read_number(found[CONFIDENCE], &leak.confidence))
        return refuse_here(decoder, "a leak holds something that is not a number in its range");
    if (clp_profile_add_leak(decoder->profile, function, &leak) != CLP_OK)
        return no_memory(decoder);
    return CLP_OK;
}

static clp_status read_leaks(struct clp_decoder *decoder, const msgpack_object *list,
                             struct clp_profile_function *function)
{
    if (list->type != MSGPACK_OBJECT_ARRAY)
        return refuse_here(decoder, "\"leaks\" of a function are not a list");
    if (list->via.array.size > MOST_LEAKS)
        return refuse_here(decoder, "more leaks in a function than there can be");
    for (uint32_t i = 0; i < list->via.array.size; i++)
        if (read_leak(decoder, &list->via.array.ptr[i], function) != CLP_OK)
            return decoder->fault->status;
    return CLP_OK;
}

clp_status clp_wire_read_function(struct clp_decoder *decoder, const msgpack_object *object)
{
    enum { TOTAL = CLP_KEYS, RAW_TOTAL, LINES, LEAKS, COUNT };
    static const char *const names[COUNT] = {"file",      "line",  "name", "total",
                                             "raw_total", "lines", "leaks"};
    const msgpack_object *found[COUNT];
    struct clp_profile_function *function;
    size_t before = decoder->profile->function_count;

    if (clp_wire_find_keys(decoder, object, names, COUNT, found) != CLP_OK ||
        read_key(decoder, found, &function) != CLP_OK)
        return decoder->fault->status;
    if (decoder->profile->function_count == before)
        return refuse_here(decoder, "a function that was listed before");
    if (found[LINES] == NULL)
        return refuse_here(decoder, "\"lines\" of a function are missing");
    if (read_lines(decoder, found[LINES], function) != CLP_OK ||
        (found[LEAKS] != NULL && read_leaks(decoder, found[LEAKS], function) != CLP_OK))
        return decoder->fault->status;
    return read_totals(decoder, found[TOTAL], found[RAW_TOTAL], function);
}

clp_status clp_wire_read_source(struct clp_decoder *decoder, const msgpack_object *object)
{
    enum { TEXT = CLP_KEYS, COUNT };
    static const char *const names[COUNT] = {"file", "line", "name", "text"};
    const msgpack_object *found[COUNT];
    struct clp_profile_function *function;
    size_t before = decoder->profile->function_count;

    if (clp_wire_find_keys(decoder, object, names, COUNT, found) != CLP_OK ||
        read_key(decoder, found, &function) != CLP_OK)
        return decoder->fault->status;
    if (decoder->profile->function_count != before)
        return refuse_here(decoder, "the source of a function that is not listed");
    if (function->source != NULL)
        return refuse_here(decoder, "the source of a function twice");
    if (found[TEXT] == NULL || found[TEXT]->type != MSGPACK_OBJECT_STR)
        return refuse_here(decoder, "\"text\" of a source is missing or not a text");
    if (clp_profile_set_source(decoder->profile, function, found[TEXT]->via.str.ptr,
                               found[TEXT]->via.str.size) != CLP_OK)
        return no_memory(decoder);
    return CLP_OK;
}
