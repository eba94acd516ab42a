/* SPDX-License-Identifier: MIT */
#include "wire_functions.h"
#include "wire_fields.h"
#include "wire_objects.h"
#include "wire_rows.h"
#include "wire_split.h"
#include "wire_texts.h"
#include "profile/callees.h"
#include "profile/missed.h"
#include "profile/texts.h"

#define MOST_LEAKS 4096 /* of a function; limited because leaks are merged one by one */

/* Unpacks a value. False: the file has no such value, and the fault's status is CLP_OK; or the value cannot be
 * unpacked, and the fault says why. */
static bool unpack_if_there(struct clp_decoder *decoder, struct clp_wire_span span, msgpack_object *object)
{
    return span.end != 0 && clp_wire_unpack(decoder, span, object) == CLP_OK;
}

static bool unpack_text(struct clp_decoder *decoder, struct clp_wire_span span, struct clp_buf *text)
{
    msgpack_object object;

    return unpack_if_there(decoder, span, &object) && is_plain_text(&object) &&
           clp_wire_copy_text(decoder, &object, text) == CLP_OK;
}

static bool unpack_line(struct clp_decoder *decoder, struct clp_wire_span span, int32_t *line)
{
    msgpack_object object;

    return unpack_if_there(decoder, span, &object) && read_line_number(&object, line);
}

/* Refuses a key of which something is missing or wrong, unless memory ran out on the way. */
static clp_status refuse_key(struct clp_decoder *decoder, const char *reason)
{
    return decoder->fault->status == CLP_NO_MEMORY ? CLP_NO_MEMORY : refuse_here(decoder, reason);
}

/* Finds or adds the function that the values of the map name. */
static clp_status read_key(struct clp_decoder *decoder, const struct clp_wire_span *key,
                           struct clp_profile_function **function)
{
    int32_t line;

    if (!unpack_text(decoder, key[CLP_KEY_FILE], &decoder->file))
        return refuse_key(decoder, "\"file\" of a function is missing or not a text");
    if (!unpack_line(decoder, key[CLP_KEY_LINE], &line))
        return refuse_key(decoder, "\"line\" of a function is missing or not a line number");
    if (!unpack_text(decoder, key[CLP_KEY_NAME], &decoder->name))
        return refuse_key(decoder, "\"name\" of a function is missing or not a text");
    if (clp_profile_add_function(decoder->profile, clp_buf_text(&decoder->file),
                                 clp_buf_text(&decoder->name), line, function) != CLP_OK)
        return no_memory(decoder);
    return CLP_OK;
}

/* ---- lines ---- */

/* Reads the lines of a function. The sum of their times is its total, unless the file says better. Lines that stay in
 * the file are read, too, to see that they can be. */
static clp_status read_lines(struct clp_decoder *decoder, struct clp_wire_span map,
                             struct clp_profile_function *function)
{
    struct clp_measures sum = {0};
    struct clp_wire_columns columns;
    struct clp_profile_line row;
    int32_t last = -1;

    if (map.end == 0)
        return refuse_here(decoder, "\"lines\" of a function are missing");
    if (clp_wire_find_columns(decoder, map, &columns) != CLP_OK)
        return decoder->fault->status;
    if (!decoder->in_place &&
        clp_profile_reserve_lines(decoder->profile, function, columns.count) != CLP_OK)
        return no_memory(decoder);
    for (uint64_t i = 0; i < columns.count; i++, last = row.line) {
        if (clp_wire_read_row(decoder, &columns, &row) != CLP_OK)
            return decoder->fault->status;
        if (row.line <= last)
            return refuse_here(decoder, "column \"line\" is not in ascending order");
        clp_measures_merge(&sum, &row.measures);
        if (!decoder->in_place && clp_profile_add_line(decoder->profile, function, row.line,
                                                       &row.measures) != CLP_OK)
            return no_memory(decoder);
    }
    if (decoder->in_place) {
        function->packed = decoder->bytes + map.start;
        function->packed_bytes = (uint32_t)(map.end - map.start);
        function->line_count = columns.count;
    }
    function->total = sum.time;
    function->raw_total = sum.raw_time;
    return CLP_OK;
}

static void drop_lines(struct clp_mem *mem, struct clp_profile_function *function)
{
    (void)mem;
    function->line_count = 0;
}

static clp_status read_missed(struct clp_decoder *decoder, struct clp_wire_span span,
                              struct clp_profile_function *function)
{
    struct clp_msgpack_check check;
    uint64_t count, line, least = 0;
    bool negative;

    if (span.end == 0)
        return CLP_OK;
    if (clp_wire_start_column(decoder, span, &check, &count, "\"missed\" of a function is not a list") != CLP_OK)
        return decoder->fault->status;
    for (uint64_t i = 0; i < count; i++, least = line + 1) {
        if (!clp_msgpack_check_number(&check, &line, &negative) || negative || line < least || line > INT32_MAX)
            return refuse_here(decoder, "\"missed\" of a function are not line numbers in ascending order");
        if (clp_missed_add(decoder->profile, function, (int32_t)line) != CLP_OK)
            return no_memory(decoder);
    }
    return CLP_OK;
}

static void drop_missed(struct clp_mem *mem, struct clp_profile_function *function)
{
    (void)mem;
    function->missed_count = 0;
}

/* Reads the spread of one line. False: something is no number in its range. */
static bool read_line_spread(struct clp_decoder *decoder, struct clp_msgpack_check *check,
                             struct clp_profile_spread *spread)
{
    uint64_t numbers[CLP_WIRE_SPREAD];
    bool negative;

    for (size_t i = 0; i < CLP_WIRE_SPREAD; i++)
        if (!clp_msgpack_check_number(check, &numbers[i], &negative) || negative || (i >= 2 && numbers[i] > UINT32_MAX))
            return false;
    *spread = (struct clp_profile_spread){numbers[0], numbers[1], (uint32_t)numbers[2], (uint32_t)numbers[3],
                                          (uint32_t)numbers[4]};
    return clp_profile_scale_time(decoder->scale, &spread->least) &&
           clp_profile_scale_time(decoder->scale, &spread->most);
}

/* Profiles that are read in place do without the spread; it is read to see that it can be. */
static clp_status read_spread(struct clp_decoder *decoder, struct clp_wire_span span,
                              struct clp_profile_function *function)
{
    struct clp_profile_spread unused;
    struct clp_msgpack_check check;
    uint64_t count;

    if (span.end == 0)
        return CLP_OK;
    if (clp_wire_start_column(decoder, span, &check, &count, "\"spread\" of a function is not a list") != CLP_OK)
        return decoder->fault->status;
    if (count != function->line_count * CLP_WIRE_SPREAD)
        return refuse_here(decoder, "\"spread\" of a function does not have five numbers for each line");
    for (size_t i = 0; i < function->line_count; i++)
        if (!read_line_spread(decoder, &check, decoder->in_place ? &unused : &function->lines[i].spread))
            return refuse_here(decoder, "\"spread\" of a function holds something that is not a number in its range");
    return CLP_OK;
}

static void drop_spread(struct clp_mem *mem, struct clp_profile_function *function)
{
    (void)mem;
    for (size_t i = 0; i < function->line_count && function->lines != NULL; i++)
        function->lines[i].spread = (struct clp_profile_spread){0};
}

static clp_status read_time_of(struct clp_decoder *decoder, struct clp_wire_span span, uint64_t *total,
                               const char *reason)
{
    msgpack_object object;

    if (!unpack_if_there(decoder, span, &object))
        return decoder->fault->status;
    return read_time(decoder, &object, total) ? CLP_OK : refuse_here(decoder, reason);
}

static clp_status read_total(struct clp_decoder *decoder, struct clp_wire_span span,
                             struct clp_profile_function *function)
{
    return read_time_of(decoder, span, &function->total, "\"total\" of a function is not a time");
}

static clp_status read_raw_total(struct clp_decoder *decoder, struct clp_wire_span span,
                                 struct clp_profile_function *function)
{
    return read_time_of(decoder, span, &function->raw_total, "\"raw_total\" of a function is not a time");
}

/* NULL leaves *truth as it is. */
static bool read_truth(const msgpack_object *object, bool *truth)
{
    if (object == NULL)
        return true;
    *truth = object->type == MSGPACK_OBJECT_BOOLEAN && object->via.boolean;
    return object->type == MSGPACK_OBJECT_BOOLEAN;
}

static clp_status read_leak(struct clp_decoder *decoder, const msgpack_object *object,
                            struct clp_profile_function *function)
{
    enum { LINE, BYTES, PER_CALL, PER_SECOND, CONFIDENCE, MARGIN, PER_EXECUTION, AT_END, HELD_BY, COUNT };
    static const char *const names[COUNT] = {"line", "bytes", "bytes_per_call", "bytes_per_second", "confidence",
                                             "margin", "per_execution", "at_end", "held_by"};
    const msgpack_object *found[COUNT];
    struct clp_profile_leak leak = {0};
    struct clp_buf text;

    if (clp_wire_find_keys(decoder, object, names, COUNT, found) != CLP_OK)
        return decoder->fault->status;
    for (size_t i = 0; i < MARGIN; i++) /* the others were not always there */
        if (found[i] == NULL)
            return refuse_here(decoder, "a leak lacks one of its numbers");
    if (!read_line_number(found[LINE], &leak.line) || !read_uint64(found[BYTES], &leak.bytes) ||
        !read_number(found[PER_CALL], &leak.bytes_per_call) ||
        !read_number(found[PER_SECOND], &leak.bytes_per_second) ||
        !read_number(found[CONFIDENCE], &leak.confidence) ||
        (found[MARGIN] != NULL && !read_uint64(found[MARGIN], &leak.margin)))
        return refuse_here(decoder, "a leak holds something that is not a number in its range");
    if (!read_truth(found[PER_EXECUTION], &leak.per_execution) || !read_truth(found[AT_END], &leak.at_end))
        return refuse_here(decoder, "\"per_execution\" or \"at_end\" of a leak is not a truth value");
    if (found[HELD_BY] != NULL && !is_plain_text(found[HELD_BY]))
        return refuse_here(decoder, "\"held_by\" of a leak is not a text");
    clp_buf_init(&text, decoder->profile->mem);
    if (found[HELD_BY] != NULL && clp_wire_copy_text(decoder, found[HELD_BY], &text) == CLP_OK)
        leak.held_by = text.bytes;
    clp_status status = decoder->fault->status == CLP_NO_MEMORY
                            ? CLP_NO_MEMORY : clp_profile_add_leak(decoder->profile, function, &leak);
    clp_buf_clear(&text);
    return status == CLP_OK ? CLP_OK : no_memory(decoder);
}

static clp_status read_leaks(struct clp_decoder *decoder, struct clp_wire_span span,
                             struct clp_profile_function *function)
{
    msgpack_object list;

    if (!unpack_if_there(decoder, span, &list))
        return decoder->fault->status;
    if (list.type != MSGPACK_OBJECT_ARRAY)
        return refuse_here(decoder, "\"leaks\" of a function are not a list");
    if (list.via.array.size > MOST_LEAKS)
        return refuse_here(decoder, "more leaks in a function than there can be");
    for (uint32_t i = 0; i < list.via.array.size; i++)
        if (read_leak(decoder, &list.via.array.ptr[i], function) != CLP_OK)
            return decoder->fault->status;
    return CLP_OK;
}

static clp_status read_callee(struct clp_decoder *decoder, const msgpack_object *object,
                              struct clp_profile_function *function)
{
    struct clp_profile_callee callee;
    const msgpack_object *items;

    if (object->type != MSGPACK_OBJECT_ARRAY || object->via.array.size != 4)
        return refuse_here(decoder, "a callee is not a list of four");
    items = object->via.array.ptr;
    if (!read_line_number(&items[0], &callee.line) || items[1].type != MSGPACK_OBJECT_BOOLEAN ||
        !read_time(decoder, &items[2], &callee.time) || !is_plain_text(&items[3]))
        return refuse_here(decoder, "a callee is not a line, a truth, a time and a name");
    if (clp_wire_copy_text(decoder, &items[3], &decoder->name) != CLP_OK)
        return no_memory(decoder);
    callee.library = items[1].via.boolean;
    callee.name = decoder->name.bytes;
    return clp_callees_add(decoder->profile, function, &callee) == CLP_OK ? CLP_OK : no_memory(decoder);
}

static clp_status read_callees(struct clp_decoder *decoder, struct clp_wire_span span,
                               struct clp_profile_function *function)
{
    msgpack_object list;

    if (!unpack_if_there(decoder, span, &list))
        return decoder->fault->status;
    if (list.type != MSGPACK_OBJECT_ARRAY)
        return refuse_here(decoder, "\"callees\" of a function are not a list");
    for (uint32_t i = 0; i < list.via.array.size; i++)
        if (read_callee(decoder, &list.via.array.ptr[i], function) != CLP_OK)
            return decoder->fault->status;
    return CLP_OK;
}

static clp_status read_compiler(struct clp_decoder *decoder, struct clp_wire_span span,
                                struct clp_profile_function *function)
{
    msgpack_object object;

    if (!unpack_if_there(decoder, span, &object))
        return decoder->fault->status;
    if (!is_plain_text(&object))
        return refuse_here(decoder, "\"compiler\" of a function is not a text");
    if (clp_wire_copy_text(decoder, &object, &decoder->name) != CLP_OK ||
        clp_profile_set_text(decoder->profile, &function->compiler,
                             clp_buf_text(&decoder->name)) != CLP_OK)
        return no_memory(decoder);
    return CLP_OK;
}

static clp_status read_compiled(struct clp_decoder *decoder, struct clp_wire_span span,
                                struct clp_profile_function *function)
{
    struct clp_compiled *into = &function->compiled;
    msgpack_object list;

    if (!unpack_if_there(decoder, span, &list))
        return decoder->fault->status;
    if (list.type != MSGPACK_OBJECT_ARRAY || list.via.array.size != 3 ||
        !read_uint64(&list.via.array.ptr[0], &into->calls) || !read_uint64(&list.via.array.ptr[1], &into->times) ||
        !read_uint64(&list.via.array.ptr[2], &into->nanos))
        return refuse_here(decoder, "\"compiled\" of a function is not three numbers in their range");
    return CLP_OK;
}

static void drop_compiled(struct clp_mem *mem, struct clp_profile_function *function)
{
    (void)mem;
    function->compiled = (struct clp_compiled){0};
}

static clp_status read_changed(struct clp_decoder *decoder, struct clp_wire_span span,
                               struct clp_profile_function *function)
{
    msgpack_object object;

    if (!unpack_if_there(decoder, span, &object))
        return decoder->fault->status;
    if (object.type != MSGPACK_OBJECT_BOOLEAN)
        return refuse_here(decoder, "\"source_changed\" of a function is neither true nor false");
    function->source_changed = object.via.boolean;
    return CLP_OK;
}

static clp_status read_hash(struct clp_decoder *decoder, struct clp_wire_span span,
                            struct clp_profile_function *function)
{
    msgpack_object object;

    if (!unpack_if_there(decoder, span, &object))
        return decoder->fault->status;
    return read_uint64(&object, &function->text_hash)
               ? CLP_OK
               : refuse_here(decoder, "\"text_hash\" of a function is not a number in its range");
}

/* A part of a function behind its key. */
struct part {
    const char *name;
    clp_status (*read)(struct clp_decoder *decoder, struct clp_wire_span span, struct clp_profile_function *function);
    void (*drop)(struct clp_mem *mem, struct clp_profile_function *function); /* forgets it; NULL: it is all or nothing */
};

/* In the order of reading: totals replace the sums of lines, and spreads are those of lines. */
static const struct part parts[] = {
    {"lines", read_lines, drop_lines},
    {"total", read_total, NULL},
    {"raw_total", read_raw_total, NULL},
    {"spread", read_spread, drop_spread},
    {"missed", read_missed, drop_missed},
    {"leaks", read_leaks, clp_profile_drop_leaks},
    {"callees", read_callees, clp_profile_drop_callees},
    {"source_changed", read_changed, NULL},
    {"text_hash", read_hash, NULL},
    {"compiler", read_compiler, NULL},
    {"compiled", read_compiled, drop_compiled},
    {"text", clp_wire_read_place, NULL},
};

#define PARTS (sizeof parts / sizeof parts[0])

static clp_status read_part(struct clp_decoder *decoder, const struct part *part, struct clp_wire_span span,
                            struct clp_profile_function *function)
{
    if (part->read(decoder, span, function) == CLP_OK)
        return CLP_OK;
    if (part->drop != NULL)
        part->drop(decoder->profile->mem, function);
    return clp_wire_leave_out(decoder, function);
}

clp_status clp_wire_read_function(struct clp_decoder *decoder, struct clp_wire_span span)
{
    const char *names[CLP_KEYS + PARTS] = {"file", "line", "name"};
    struct clp_wire_span found[CLP_KEYS + PARTS];
    struct clp_profile_function *function;
    size_t before = decoder->profile->function_count;
    bool lost = decoder->lost_function;
    clp_status status = CLP_OK;

    for (size_t i = 0; i < PARTS; i++)
        names[CLP_KEYS + i] = parts[i].name;
    decoder->lost_function = true; /* unless its key can be read */
    if (clp_wire_split(decoder, span, names, CLP_KEYS + PARTS, found) != CLP_OK ||
        read_key(decoder, found, &function) != CLP_OK)
        return decoder->fault->status;
    if (decoder->profile->function_count == before)
        return refuse_here(decoder, "a function that was listed before");
    decoder->lost_function = lost;
    for (size_t i = 0; i < PARTS && status == CLP_OK; i++)
        status = read_part(decoder, &parts[i], found[CLP_KEYS + i], function);
    return status;
}

static clp_status take_source(struct clp_decoder *decoder, const msgpack_object_str *text,
                              struct clp_profile_function *function)
{
    if (!decoder->in_place || text->size == 0)
        return clp_profile_set_source(decoder->profile, function, text->ptr, text->size) == CLP_OK
                   ? CLP_OK
                   : no_memory(decoder);
    clp_profile_lend_source(decoder->profile, function, (struct clp_span){text->ptr, text->size});
    return CLP_OK;
}

/* "source" has a text for each function. It stands in files of older versions. */
clp_status clp_wire_read_source(struct clp_decoder *decoder, struct clp_wire_span span)
{
    enum { TEXT = CLP_KEYS, COUNT };
    static const char *const names[COUNT] = {"file", "line", "name", "text"};
    struct clp_wire_span found[COUNT];
    struct clp_profile_function *function;
    msgpack_object text = {.type = MSGPACK_OBJECT_NIL};
    size_t before = decoder->profile->function_count;

    if (clp_wire_split(decoder, span, names, COUNT, found) != CLP_OK ||
        read_key(decoder, found, &function) != CLP_OK)
        return decoder->fault->status;
    if (decoder->profile->function_count != before)
        return refuse_here(decoder, "the source of a function that is not listed");
    if (function->source != NULL)
        return refuse_here(decoder, "the source of a function twice");
    if (found[TEXT].end != 0 && clp_wire_unpack(decoder, found[TEXT], &text) != CLP_OK)
        return decoder->fault->status;
    if (text.type != MSGPACK_OBJECT_STR)
        return refuse_here(decoder, "\"text\" of a source is missing or not a text");
    return take_source(decoder, &text.via.str, function);
}
