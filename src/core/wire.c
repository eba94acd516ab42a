/* SPDX-License-Identifier: MIT */
/* Reading goes in three steps, each of which may rely on the one before:
 *
 *   walk     over every byte, allocating nothing: is it one msgpack item that ends where the file
 *            ends, not too deep, and does no header promise more than the file can hold?
 *   split    the top map into its values, as spans of bytes
 *   convert  one function (one source, the meta) at a time: msgpack-c unpacks its span into a zone
 *            that is emptied before the next, so a file costs little more than its profile
 *
 * msgpack-c allocates from the lengths a file declares; after the walk these are honest. */
#include "wire.h"
#include "walk.h"
#include <math.h>
#include <msgpack.h>
#include <string.h>

#define CLP_WIRE_FORMAT "clineprof"
#define CLP_WIRE_UNIT 1e-9
#define CLP_WIRE_LEAKS 4096 /* of a function; they are merged one by one */

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof(array)[0])

/* ---- what the file is made of ---- */

/* One measure of a line and the column it is kept in. */
struct column {
    const char *name;
    size_t at; /* in struct clp_measures; both types have 8 bytes */
    bool is_signed;
    const char *not_list, *not_as_long, *not_number; /* reasons */
};

#define SIGNED_uint64_t false
#define SIGNED_int64_t true
#define COLUMN(name, type, merge)                                                 \
    {#name, offsetof(struct clp_measures, name), SIGNED_##type,                   \
     "column \"" #name "\" is not a list",                                        \
     "columns \"" #name "\" and \"line\" are not equally long",                   \
     "column \"" #name "\" holds something that is not a number in its range"},
static const struct column columns[] = {CLP_MEASURE_TABLE(COLUMN)};
#undef COLUMN

#define COLUMNS ARRAY_LENGTH(columns)

/* Is the measure a time, to be scaled by the file's unit? */
static bool is_time(const struct column *column)
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

/* One entry of the meta map and the field it is kept in. */
struct meta_field {
    const char *name;
    size_t at; /* in struct clp_profile_meta */
    enum { META_TEXT, META_COUNT, META_TIME, META_FLAG, META_SECONDS,
           META_ASKED /* a count that is 0 unless it was asked for */ } type;
    const char *wrong; /* reason */
};

#define WHAT_TEXT "a text"
#define WHAT_COUNT "a whole number"
#define WHAT_ASKED "a whole number"
#define WHAT_TIME "a time"
#define WHAT_FLAG "true or false"
#define WHAT_SECONDS "a finite number"
#define META(name, kind)                                            \
    {#name, offsetof(struct clp_profile_meta, name), META_##kind,   \
     "meta \"" #name "\" is not " WHAT_##kind},
static const struct meta_field meta_fields[] = {CLP_META_TABLE(META)};
#undef META

#define META_FIELDS ARRAY_LENGTH(meta_fields)

/* ---- writing ---- */

static int write_bytes(void *data, const char *bytes, size_t count)
{
    struct clp_buf *out = data;

    clp_buf_add(out, bytes, count);
    return out->failed ? -1 : 0;
}

static void pack_bytes(msgpack_packer *packer, const char *bytes, size_t count)
{
    msgpack_pack_str(packer, count);
    msgpack_pack_str_body(packer, bytes, count);
}

static void pack_text(msgpack_packer *packer, const char *text)
{
    pack_bytes(packer, text, strlen(text));
}

/* An entry of a map. */
static void pack_count(msgpack_packer *packer, const char *key, uint64_t value)
{
    pack_text(packer, key);
    msgpack_pack_uint64(packer, value);
}

static void pack_real(msgpack_packer *packer, const char *key, double value)
{
    pack_text(packer, key);
    msgpack_pack_double(packer, value);
}

static void pack_named(msgpack_packer *packer, const char *key, const char *text)
{
    pack_text(packer, key);
    pack_text(packer, text);
}

static void pack_bool(msgpack_packer *packer, bool value)
{
    if (value)
        msgpack_pack_true(packer);
    else
        msgpack_pack_false(packer);
}

static const uint64_t *cell(const struct clp_profile_line *line, const struct column *column)
{
    return (const uint64_t *)(const void *)((const char *)&line->measures + column->at);
}

static bool is_zero(const struct clp_profile_function *function, const struct column *column)
{
    for (size_t i = 0; i < function->line_count; i++) {
        if (*cell(&function->lines[i], column) != 0)
            return false;
    }
    return true;
}

static void pack_column(msgpack_packer *packer, const struct clp_profile_function *function,
                        const struct column *column)
{
    pack_text(packer, column->name);
    msgpack_pack_array(packer, function->line_count);
    for (size_t i = 0; i < function->line_count; i++) {
        uint64_t value = *cell(&function->lines[i], column);
        if (column->is_signed)
            msgpack_pack_int64(packer, (int64_t)value);
        else
            msgpack_pack_uint64(packer, value);
    }
}

static void pack_lines(msgpack_packer *packer, const struct clp_profile_function *function)
{
    bool wanted[COLUMNS];
    size_t count = 1;

    for (size_t i = 0; i < COLUMNS; i++) {
        wanted[i] = !is_zero(function, &columns[i]);
        count += wanted[i];
    }
    msgpack_pack_map(packer, count);
    pack_text(packer, "line");
    msgpack_pack_array(packer, function->line_count);
    for (size_t i = 0; i < function->line_count; i++)
        msgpack_pack_int32(packer, function->lines[i].line);
    for (size_t i = 0; i < COLUMNS; i++) {
        if (wanted[i])
            pack_column(packer, function, &columns[i]);
    }
}

static void pack_key(msgpack_packer *packer, const struct clp_profile_function *function)
{
    pack_named(packer, "file", function->file);
    pack_text(packer, "line");
    msgpack_pack_int32(packer, function->first_line);
    pack_named(packer, "name", function->name);
}

static void pack_leak(msgpack_packer *packer, const struct clp_profile_leak *leak)
{
    msgpack_pack_map(packer, 5);
    pack_text(packer, "line");
    msgpack_pack_int32(packer, leak->line);
    pack_count(packer, "bytes", leak->bytes);
    pack_real(packer, "bytes_per_call", leak->bytes_per_call);
    pack_real(packer, "bytes_per_second", leak->bytes_per_second);
    pack_real(packer, "confidence", leak->confidence);
}

static void pack_leaks(msgpack_packer *packer, const struct clp_profile_function *function)
{
    pack_text(packer, "leaks");
    msgpack_pack_array(packer, function->leak_count);
    for (size_t i = 0; i < function->leak_count; i++)
        pack_leak(packer, &function->leaks[i]);
}

static void pack_functions(msgpack_packer *packer, const struct clp_profile *profile)
{
    msgpack_pack_array(packer, profile->function_count);
    for (size_t i = 0; i < profile->function_count; i++) {
        const struct clp_profile_function *function = &profile->functions[i];
        msgpack_pack_map(packer, function->leak_count != 0 ? 7 : 6);
        pack_key(packer, function);
        pack_count(packer, "total", function->total);
        pack_count(packer, "raw_total", function->raw_total);
        pack_text(packer, "lines");
        pack_lines(packer, function);
        if (function->leak_count != 0)
            pack_leaks(packer, function);
    }
}

static void pack_sources(msgpack_packer *packer, const struct clp_profile *profile)
{
    size_t count = 0;

    for (size_t i = 0; i < profile->function_count; i++)
        count += profile->functions[i].source != NULL;
    msgpack_pack_array(packer, count);
    for (size_t i = 0; i < profile->function_count; i++) {
        const struct clp_profile_function *function = &profile->functions[i];
        if (function->source == NULL)
            continue;
        msgpack_pack_map(packer, 4);
        pack_key(packer, function);
        pack_text(packer, "text");
        pack_bytes(packer, function->source, function->source_bytes);
    }
}

static void pack_numbers(msgpack_packer *packer, const char *name, const uint64_t *numbers,
                         size_t count)
{
    pack_text(packer, name);
    msgpack_pack_array(packer, count);
    for (size_t i = 0; i < count; i++)
        msgpack_pack_uint64(packer, numbers[i]);
}

static void pack_mark(msgpack_packer *packer, const struct clp_profile_mark *mark)
{
    msgpack_pack_map(packer, 6);
    pack_named(packer, "file", mark->file);
    pack_text(packer, "line");
    msgpack_pack_int32(packer, mark->first_line);
    pack_named(packer, "name", mark->name);
    pack_text(packer, "level");
    msgpack_pack_uint32(packer, mark->level);
    pack_count(packer, "enter", mark->enter);
    pack_count(packer, "leave", mark->leave);
}

static void pack_marks(msgpack_packer *packer, const struct clp_profile_series *series)
{
    pack_text(packer, "marks");
    msgpack_pack_array(packer, series->mark_count);
    for (size_t i = 0; i < series->mark_count; i++)
        pack_mark(packer, &series->marks[i]);
}

static void pack_timeline(msgpack_packer *packer, const struct clp_profile *profile)
{
    pack_text(packer, "timeline");
    msgpack_pack_array(packer, profile->series_count);
    for (size_t i = 0; i < profile->series_count; i++) {
        const struct clp_profile_series *series = &profile->series[i];
        msgpack_pack_map(packer, series->mark_count != 0 ? 5 : 4);
        pack_count(packer, "pid", series->pid);
        pack_real(packer, "start", series->start);
        pack_numbers(packer, "time", series->time, series->count);
        pack_numbers(packer, "rss", series->rss, series->count);
        if (series->mark_count != 0)
            pack_marks(packer, series);
    }
}

static void pack_process(msgpack_packer *packer, const struct clp_profile_process *process)
{
    msgpack_pack_map(packer, 6u + (process->name != NULL) + (process->numbers != NULL));
    pack_count(packer, "pid", process->pid);
    pack_count(packer, "parent", process->parent);
    pack_real(packer, "start", process->start);
    pack_count(packer, "wall", process->wall);
    pack_count(packer, "self", process->self);
    pack_count(packer, "events", process->events);
    if (process->name != NULL) {
        pack_named(packer, "name", process->name);
    }
    if (process->numbers != NULL) {
        pack_text(packer, "numbers");
        msgpack_pack_bin(packer, process->numbers_bytes);
        msgpack_pack_bin_body(packer, process->numbers, process->numbers_bytes);
    }
}

static void pack_processes(msgpack_packer *packer, const struct clp_profile *profile)
{
    pack_text(packer, "processes");
    msgpack_pack_array(packer, profile->process_count);
    for (size_t i = 0; i < profile->process_count; i++)
        pack_process(packer, &profile->processes[i]);
}

static void pack_meta_field(msgpack_packer *packer, const struct clp_profile_meta *meta,
                            const struct meta_field *field)
{
    const void *at = (const char *)meta + field->at;

    pack_text(packer, field->name);
    switch (field->type) {
    case META_TEXT:
        pack_text(packer, *(char *const *)at);
        break;
    case META_COUNT:
    case META_ASKED:
    case META_TIME:
        msgpack_pack_uint64(packer, *(const uint64_t *)at);
        break;
    case META_FLAG:
        pack_bool(packer, *(const bool *)at);
        break;
    case META_SECONDS:
        msgpack_pack_double(packer, *(const double *)at);
        break;
    }
}

/* Unknown texts are left out, and what nobody asked for. */
static bool is_known(const struct clp_profile_meta *meta, const struct meta_field *field)
{
    const void *at = (const char *)meta + field->at;

    if (field->type == META_ASKED)
        return *(const uint64_t *)at != 0;
    return field->type != META_TEXT || *(char *const *)at != NULL;
}

static void pack_meta(msgpack_packer *packer, const struct clp_profile_meta *meta)
{
    size_t count = 0;

    for (size_t i = 0; i < META_FIELDS; i++)
        count += is_known(meta, &meta_fields[i]);
    msgpack_pack_map(packer, count);
    for (size_t i = 0; i < META_FIELDS; i++) {
        if (is_known(meta, &meta_fields[i]))
            pack_meta_field(packer, meta, &meta_fields[i]);
    }
}

clp_status clp_wire_encode(const struct clp_profile *profile, struct clp_buf *out)
{
    msgpack_packer packer;

    msgpack_packer_init(&packer, out, write_bytes);
    msgpack_pack_map(&packer,
                     6u + (profile->series_count != 0) + (profile->process_count != 0));
    pack_text(&packer, "format"); /* first, so that a reader can tell from the first bytes */
    pack_text(&packer, CLP_WIRE_FORMAT);
    pack_text(&packer, "version");
    msgpack_pack_int(&packer, CLP_WIRE_VERSION);
    pack_text(&packer, "unit");
    msgpack_pack_double(&packer, CLP_WIRE_UNIT);
    pack_text(&packer, "functions");
    pack_functions(&packer, profile);
    pack_text(&packer, "source");
    pack_sources(&packer, profile);
    pack_text(&packer, "meta");
    pack_meta(&packer, &profile->meta);
    if (profile->series_count != 0)
        pack_timeline(&packer, profile);
    if (profile->process_count != 0)
        pack_processes(&packer, profile);
    return out->failed ? CLP_NO_MEMORY : CLP_OK;
}

/* ---- reading: the walk ---- */

/* Do the bytes, as far as they reach, begin as every writer of ours begins? */
static bool begins_like_profile(const char *bytes, size_t count)
{
    static const char start[] = "\xa6" "format\xa9" CLP_WIRE_FORMAT;
    size_t wanted = sizeof start - 1;

    if (((unsigned char)bytes[0] & 0xf0) != 0x80)
        return false;
    return memcmp(bytes + 1, start, count - 1 < wanted ? count - 1 : wanted) == 0;
}

/* Everything that can be said without allocating. */
static clp_status check_bytes(const char *bytes, size_t count, struct clp_fault *fault)
{
    struct clp_walk walk = {.bytes = (const unsigned char *)bytes, .count = count, .fault = fault};

    if (count == 0)
        return clp_fault_set(fault, CLP_EMPTY, 0, NULL);
    clp_status status = clp_walk_item(&walk);
    if (status == CLP_OK && walk.at < count)
        status = clp_fault_set(fault, CLP_CORRUPT, walk.at, "more bytes behind the end");
    if (status != CLP_OK && !begins_like_profile(bytes, count))
        status = clp_fault_set(fault, CLP_NOT_A_PROFILE, 0, "it does not begin like one");
    return status;
}

/* ---- reading: from bytes to objects ---- */

struct span {
    size_t start, end; /* equal: not in the file */
};

struct decoder {
    const char *bytes;
    size_t count;
    struct clp_profile *profile;
    struct clp_fault *fault;
    double scale;  /* nanoseconds per tick of the file */
    size_t offset; /* of what is being converted, for the fault */
    msgpack_zone zone;
    struct clp_buf file, name; /* texts of the file lack the ending 0 */
};

static clp_status refuse_here(struct decoder *decoder, const char *reason)
{
    return clp_fault_set(decoder->fault, CLP_CORRUPT, decoder->offset, reason);
}

static clp_status no_memory(struct decoder *decoder)
{
    return clp_fault_set(decoder->fault, CLP_NO_MEMORY, decoder->offset, NULL);
}

/* The object lives in the zone until the next call; its texts lie in the file's bytes. */
static clp_status unpack(struct decoder *decoder, struct span span, msgpack_object *object)
{
    size_t at = 0;

    decoder->offset = span.start;
    msgpack_zone_clear(&decoder->zone);
    switch (msgpack_unpack(decoder->bytes + span.start, span.end - span.start, &at, &decoder->zone,
                           object)) {
    case MSGPACK_UNPACK_SUCCESS:
        return CLP_OK;
    case MSGPACK_UNPACK_NOMEM_ERROR:
        return no_memory(decoder);
    default:
        return refuse_here(decoder, "msgpack-c cannot read it");
    }
}

static bool is_text(const msgpack_object *object, const char *text)
{
    return object->type == MSGPACK_OBJECT_STR && object->via.str.size == strlen(text) &&
           memcmp(object->via.str.ptr, text, object->via.str.size) == 0;
}

/* Any text without a 0 in it: the profile's strings end at the first one. */
static bool is_plain_text(const msgpack_object *object)
{
    return object->type == MSGPACK_OBJECT_STR &&
           (object->via.str.size == 0 ||
            memchr(object->via.str.ptr, 0, object->via.str.size) == NULL);
}

static bool read_uint64(const msgpack_object *object, uint64_t *value)
{
    if (object->type != MSGPACK_OBJECT_POSITIVE_INTEGER)
        return false;
    *value = object->via.u64;
    return true;
}

static bool read_int64(const msgpack_object *object, uint64_t *value)
{
    if (object->type == MSGPACK_OBJECT_NEGATIVE_INTEGER) {
        *value = (uint64_t)object->via.i64;
        return true;
    }
    return read_uint64(object, value) && *value <= INT64_MAX;
}

static bool read_line_number(const msgpack_object *object, int32_t *line)
{
    uint64_t value;

    if (!read_uint64(object, &value) || value > INT32_MAX)
        return false;
    *line = (int32_t)value;
    return true;
}

static bool read_number(const msgpack_object *object, double *value)
{
    if (object->type == MSGPACK_OBJECT_POSITIVE_INTEGER)
        *value = (double)object->via.u64;
    else if (object->type == MSGPACK_OBJECT_FLOAT32 || object->type == MSGPACK_OBJECT_FLOAT64)
        *value = object->via.f64;
    else
        return false;
    return isfinite(*value);
}

static bool read_time(const struct decoder *decoder, const msgpack_object *object, uint64_t *value)
{
    return read_uint64(object, value) && clp_profile_scale_time(decoder->scale, value);
}

/* Sorts a map's values by `names`: found[i] is the value of names[i], NULL when it is not there.
 * Keys that are none of them are passed over. */
static clp_status find_keys(struct decoder *decoder, const msgpack_object *map,
                            const char *const *names, size_t count, const msgpack_object **found)
{
    memset(found, 0, count * sizeof *found);
    if (map->type != MSGPACK_OBJECT_MAP)
        return refuse_here(decoder, "not a map where one must be");
    for (uint32_t i = 0; i < map->via.map.size; i++) {
        const msgpack_object_kv *pair = &map->via.map.ptr[i];
        size_t k = 0;
        while (k < count && !is_text(&pair->key, names[k]))
            k++;
        if (k == count)
            continue;
        if (found[k] != NULL)
            return refuse_here(decoder, "a map with the same key twice");
        found[k] = &pair->val;
    }
    return CLP_OK;
}

/* ---- reading: functions and their lines ---- */

/* The key of a function comes first in both of its maps. */
enum { KEY_FILE, KEY_LINE, KEY_NAME, KEYS };

static clp_status copy_text(struct decoder *decoder, const msgpack_object *object,
                            struct clp_buf *copy)
{
    copy->used = 0;
    clp_buf_add(copy, object->via.str.ptr, object->via.str.size);
    return copy->failed ? no_memory(decoder) : CLP_OK;
}

/* Finds or adds the function that the map's values name. */
static clp_status read_key(struct decoder *decoder, const msgpack_object **key,
                           struct clp_profile_function **function)
{
    int32_t line;

    if (key[KEY_FILE] == NULL || !is_plain_text(key[KEY_FILE]))
        return refuse_here(decoder, "\"file\" of a function is missing or not a text");
    if (key[KEY_LINE] == NULL || !read_line_number(key[KEY_LINE], &line))
        return refuse_here(decoder, "\"line\" of a function is missing or not a line number");
    if (key[KEY_NAME] == NULL || !is_plain_text(key[KEY_NAME]))
        return refuse_here(decoder, "\"name\" of a function is missing or not a text");
    if (copy_text(decoder, key[KEY_FILE], &decoder->file) != CLP_OK ||
        copy_text(decoder, key[KEY_NAME], &decoder->name) != CLP_OK)
        return CLP_NO_MEMORY;
    if (clp_profile_add_function(decoder->profile, clp_buf_text(&decoder->file),
                                 clp_buf_text(&decoder->name), line, function) != CLP_OK)
        return no_memory(decoder);
    return CLP_OK;
}

/* Sets one measure of a line from its column. */
static clp_status read_cell(struct decoder *decoder, const struct column *column,
                            const msgpack_object *object, struct clp_measures *measures)
{
    uint64_t value;

    if (!(column->is_signed ? read_int64(object, &value) : read_uint64(object, &value)) ||
        (is_time(column) && !clp_profile_scale_time(decoder->scale, &value)))
        return refuse_here(decoder, column->not_number);
    memcpy((char *)measures + column->at, &value, sizeof value);
    return CLP_OK;
}

/* One row of the table; lists[0] is "line" and lists[i + 1] columns[i], NULL where all is zero. */
static clp_status read_row(struct decoder *decoder, const msgpack_object **lists, uint32_t row,
                           struct clp_profile_function *function)
{
    struct clp_measures measures = {0};
    int32_t line;

    if (!read_line_number(&lists[0]->via.array.ptr[row], &line))
        return refuse_here(decoder, "column \"line\" holds something that is not a line number");
    if (row > 0 && line <= function->lines[row - 1].line)
        return refuse_here(decoder, "column \"line\" is not in ascending order");
    for (size_t i = 0; i < COLUMNS; i++) {
        const msgpack_object *list = lists[i + 1];
        if (list != NULL &&
            read_cell(decoder, &columns[i], &list->via.array.ptr[row], &measures) != CLP_OK)
            return decoder->fault->status;
    }
    if (clp_profile_add_line(decoder->profile, function, line, &measures) != CLP_OK)
        return no_memory(decoder);
    return CLP_OK;
}

static clp_status find_columns(struct decoder *decoder, const msgpack_object *map,
                               const msgpack_object **lists)
{
    const char *names[COLUMNS + 1] = {"line"};

    for (size_t i = 0; i < COLUMNS; i++)
        names[i + 1] = columns[i].name;
    if (find_keys(decoder, map, names, COLUMNS + 1, lists) != CLP_OK)
        return decoder->fault->status;
    if (lists[0] == NULL || lists[0]->type != MSGPACK_OBJECT_ARRAY)
        return refuse_here(decoder, "column \"line\" is missing or not a list");
    for (size_t i = 0; i < COLUMNS; i++) {
        const msgpack_object *list = lists[i + 1];
        if (list != NULL && list->type != MSGPACK_OBJECT_ARRAY)
            return refuse_here(decoder, columns[i].not_list);
        if (list != NULL && list->via.array.size != lists[0]->via.array.size)
            return refuse_here(decoder, columns[i].not_as_long);
    }
    return CLP_OK;
}

static clp_status read_lines(struct decoder *decoder, const msgpack_object *map,
                             struct clp_profile_function *function)
{
    const msgpack_object *lists[COLUMNS + 1];

    if (find_columns(decoder, map, lists) != CLP_OK)
        return decoder->fault->status;
    for (uint32_t row = 0; row < lists[0]->via.array.size; row++) {
        if (read_row(decoder, lists, row, function) != CLP_OK)
            return decoder->fault->status;
    }
    return CLP_OK;
}

/* Totals are optional: without them the lines' own sum is the best there is. */
static clp_status read_totals(struct decoder *decoder, const msgpack_object *total,
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

static clp_status read_leak(struct decoder *decoder, const msgpack_object *object,
                            struct clp_profile_function *function)
{
    enum { LINE, BYTES, PER_CALL, PER_SECOND, CONFIDENCE, COUNT };
    static const char *const names[COUNT] = {"line", "bytes", "bytes_per_call", "bytes_per_second",
                                             "confidence"};
    const msgpack_object *found[COUNT];
    struct clp_profile_leak leak;

    if (find_keys(decoder, object, names, COUNT, found) != CLP_OK)
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

static clp_status read_leaks(struct decoder *decoder, const msgpack_object *list,
                             struct clp_profile_function *function)
{
    if (list->type != MSGPACK_OBJECT_ARRAY)
        return refuse_here(decoder, "\"leaks\" of a function are not a list");
    if (list->via.array.size > CLP_WIRE_LEAKS)
        return refuse_here(decoder, "more leaks in a function than there can be");
    for (uint32_t i = 0; i < list->via.array.size; i++)
        if (read_leak(decoder, &list->via.array.ptr[i], function) != CLP_OK)
            return decoder->fault->status;
    return CLP_OK;
}

static clp_status read_function(struct decoder *decoder, const msgpack_object *object)
{
    enum { TOTAL = KEYS, RAW_TOTAL, LINES, LEAKS, COUNT };
    static const char *const names[COUNT] = {"file",      "line",  "name", "total",
                                             "raw_total", "lines", "leaks"};
    const msgpack_object *found[COUNT];
    struct clp_profile_function *function;
    size_t before = decoder->profile->function_count;

    if (find_keys(decoder, object, names, COUNT, found) != CLP_OK ||
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

static clp_status read_source(struct decoder *decoder, const msgpack_object *object)
{
    enum { TEXT = KEYS, COUNT };
    static const char *const names[COUNT] = {"file", "line", "name", "text"};
    const msgpack_object *found[COUNT];
    struct clp_profile_function *function;
    size_t before = decoder->profile->function_count;

    if (find_keys(decoder, object, names, COUNT, found) != CLP_OK ||
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

/* ---- reading: the timeline ---- */

static clp_status read_samples(struct decoder *decoder, const msgpack_object *times,
                               const msgpack_object *sizes, struct clp_profile_series *series)
{
    uint64_t time, rss;

    for (uint32_t i = 0; i < times->via.array.size; i++) {
        if (!read_time(decoder, &times->via.array.ptr[i], &time) ||
            !read_uint64(&sizes->via.array.ptr[i], &rss))
            return refuse_here(decoder, "a sample that is not a number in its range");
        if (i > 0 && time < series->time[i - 1])
            return refuse_here(decoder, "samples are not in ascending order");
        if (clp_profile_add_sample(decoder->profile, series, time, rss) != CLP_OK)
            return no_memory(decoder);
    }
    return CLP_OK;
}

static clp_status read_mark(struct decoder *decoder, const msgpack_object *object,
                            struct clp_profile_series *series)
{
    enum { LEVEL = KEYS, ENTER, LEAVE, COUNT };
    static const char *const names[COUNT] = {"file", "line", "name", "level", "enter", "leave"};
    const msgpack_object *found[COUNT];
    struct clp_profile_mark mark;
    uint64_t level;

    if (find_keys(decoder, object, names, COUNT, found) != CLP_OK)
        return decoder->fault->status;
    for (size_t i = 0; i < COUNT; i++)
        if (found[i] == NULL)
            return refuse_here(decoder, "a mark lacks one of its keys");
    if (!is_plain_text(found[KEY_FILE]) || !is_plain_text(found[KEY_NAME]) ||
        !read_line_number(found[KEY_LINE], &mark.first_line) ||
        !read_uint64(found[LEVEL], &level) || level > UINT32_MAX ||
        !read_time(decoder, found[ENTER], &mark.enter) ||
        !read_time(decoder, found[LEAVE], &mark.leave) || mark.leave < mark.enter)
        return refuse_here(decoder, "a mark holds something of the wrong kind or out of its range");
    if (copy_text(decoder, found[KEY_FILE], &decoder->file) != CLP_OK ||
        copy_text(decoder, found[KEY_NAME], &decoder->name) != CLP_OK)
        return CLP_NO_MEMORY;
    mark.level = (uint32_t)level;
    mark.file = (char *)(uintptr_t)clp_buf_text(&decoder->file);
    mark.name = (char *)(uintptr_t)clp_buf_text(&decoder->name);
    if (clp_profile_add_mark(decoder->profile, series, &mark) != CLP_OK)
        return no_memory(decoder);
    return CLP_OK;
}

static clp_status read_marks(struct decoder *decoder, const msgpack_object *list,
                             struct clp_profile_series *series)
{
    if (list->type != MSGPACK_OBJECT_ARRAY)
        return refuse_here(decoder, "\"marks\" of a timeline are not a list");
    for (uint32_t i = 0; i < list->via.array.size; i++)
        if (read_mark(decoder, &list->via.array.ptr[i], series) != CLP_OK)
            return decoder->fault->status;
    return CLP_OK;
}

static clp_status read_series(struct decoder *decoder, const msgpack_object *object)
{
    enum { PID, START, TIME, RSS, MARKS, COUNT };
    static const char *const names[COUNT] = {"pid", "start", "time", "rss", "marks"};
    const msgpack_object *found[COUNT];
    struct clp_profile_series *series;
    uint64_t pid = 0;
    double start = 0;

    if (find_keys(decoder, object, names, COUNT, found) != CLP_OK)
        return decoder->fault->status;
    if (found[TIME] == NULL || found[TIME]->type != MSGPACK_OBJECT_ARRAY || found[RSS] == NULL ||
        found[RSS]->type != MSGPACK_OBJECT_ARRAY)
        return refuse_here(decoder, "\"time\" or \"rss\" of a timeline is missing or not a list");
    if (found[TIME]->via.array.size != found[RSS]->via.array.size)
        return refuse_here(decoder, "\"time\" and \"rss\" of a timeline are not equally long");
    if ((found[PID] != NULL && !read_uint64(found[PID], &pid)) ||
        (found[START] != NULL && !read_number(found[START], &start)))
        return refuse_here(decoder, "\"pid\" or \"start\" of a timeline is not a number");
    if (clp_profile_add_series(decoder->profile, pid, start, &series) != CLP_OK)
        return no_memory(decoder);
    if (found[MARKS] != NULL && read_marks(decoder, found[MARKS], series) != CLP_OK)
        return decoder->fault->status;
    return read_samples(decoder, found[TIME], found[RSS], series);
}

/* ---- reading: processes ---- */

static clp_status read_process_texts(struct decoder *decoder, const msgpack_object *name,
                                     const msgpack_object *numbers,
                                     struct clp_profile_process *process)
{
    if (name != NULL && !is_plain_text(name))
        return refuse_here(decoder, "\"name\" of a process is not a text");
    if (numbers != NULL && numbers->type != MSGPACK_OBJECT_BIN)
        return refuse_here(decoder, "\"numbers\" of a process are not bytes");
    if (name != NULL && copy_text(decoder, name, &decoder->name) != CLP_OK)
        return CLP_NO_MEMORY;
    if (name != NULL)
        process->name = (char *)(uintptr_t)clp_buf_text(&decoder->name);
    if (numbers != NULL && numbers->via.bin.size != 0) {
        process->numbers = (char *)(uintptr_t)numbers->via.bin.ptr;
        process->numbers_bytes = numbers->via.bin.size;
    }
    return CLP_OK;
}

static bool read_optional(const msgpack_object *object, uint64_t *value)
{
    return object == NULL || read_uint64(object, value);
}

static clp_status read_process(struct decoder *decoder, const msgpack_object *object)
{
    enum { PID, PARENT, START, WALL, SELF, EVENTS, NAME, NUMBERS, COUNT };
    static const char *const names[COUNT] = {"pid",  "parent", "start", "wall",
                                             "self", "events", "name",  "numbers"};
    const msgpack_object *found[COUNT];
    struct clp_profile_process process = {0};

    if (find_keys(decoder, object, names, COUNT, found) != CLP_OK)
        return decoder->fault->status;
    if (!read_optional(found[PID], &process.pid) ||
        !read_optional(found[PARENT], &process.parent) ||
        !read_optional(found[EVENTS], &process.events) ||
        (found[START] != NULL && !read_number(found[START], &process.start)) ||
        (found[WALL] != NULL && !read_time(decoder, found[WALL], &process.wall)) ||
        (found[SELF] != NULL && !read_time(decoder, found[SELF], &process.self)))
        return refuse_here(decoder, "a process holds something that is not a number in its range");
    if (read_process_texts(decoder, found[NAME], found[NUMBERS], &process) != CLP_OK)
        return decoder->fault->status;
    if (clp_profile_add_process(decoder->profile, &process) != CLP_OK)
        return no_memory(decoder);
    return CLP_OK;
}

/* ---- reading: meta ---- */

static clp_status read_meta_text(struct decoder *decoder, const struct meta_field *field,
                                 const msgpack_object *object)
{
    char **text = (char **)(void *)((char *)&decoder->profile->meta + field->at);

    if (!is_plain_text(object))
        return refuse_here(decoder, field->wrong);
    if (copy_text(decoder, object, &decoder->name) != CLP_OK)
        return CLP_NO_MEMORY;
    if (clp_profile_set_text(decoder->profile, text, clp_buf_text(&decoder->name)) != CLP_OK)
        return no_memory(decoder);
    return CLP_OK;
}

static clp_status read_meta_field(struct decoder *decoder, const struct meta_field *field,
                                  const msgpack_object *object)
{
    void *at = (char *)&decoder->profile->meta + field->at;
    bool good = false;

    switch (field->type) {
    case META_TEXT:
        return read_meta_text(decoder, field, object);
    case META_COUNT:
    case META_ASKED:
        good = read_uint64(object, at);
        break;
    case META_TIME:
        good = read_time(decoder, object, at);
        break;
    case META_FLAG:
        good = object->type == MSGPACK_OBJECT_BOOLEAN;
        if (good)
            *(bool *)at = object->via.boolean;
        break;
    case META_SECONDS:
        good = read_number(object, at);
        break;
    }
    return good ? CLP_OK : refuse_here(decoder, field->wrong);
}

static clp_status read_meta(struct decoder *decoder, const msgpack_object *object)
{
    const char *names[META_FIELDS];
    const msgpack_object *found[META_FIELDS];

    for (size_t i = 0; i < META_FIELDS; i++)
        names[i] = meta_fields[i].name;
    if (find_keys(decoder, object, names, META_FIELDS, found) != CLP_OK)
        return decoder->fault->status;
    for (size_t i = 0; i < META_FIELDS; i++) {
        if (found[i] != NULL && read_meta_field(decoder, &meta_fields[i], found[i]) != CLP_OK)
            return decoder->fault->status;
    }
    return CLP_OK;
}

/* ---- reading: the top map ---- */

enum { TOP_FORMAT, TOP_VERSION, TOP_UNIT, TOP_FUNCTIONS, TOP_SOURCE, TOP_META, TOP_TIMELINE,
       TOP_PROCESSES, TOP_KEYS };

static const char *const top_names[TOP_KEYS] = {"format", "version", "unit",    "functions",
                                                "source", "meta",    "timeline", "processes"};

/* Finds where the top map's values lie. */
static clp_status split_top(struct clp_walk *walk, struct span *spans)
{
    struct clp_walk_head top, key;

    if (clp_walk_head(walk, &top) != CLP_OK)
        return walk->fault->status;
    if (top.kind != CLP_WALK_MAP)
        return clp_fault_set(walk->fault, CLP_NOT_A_PROFILE, 0, "not a msgpack map");
    for (uint64_t i = 0; i < top.count; i++) {
        struct clp_walk ahead = *walk;
        if (clp_walk_item(walk) != CLP_OK || clp_walk_head(&ahead, &key) != CLP_OK)
            return walk->fault->status;
        struct span value = {.start = walk->at};
        if (clp_walk_item(walk) != CLP_OK)
            return walk->fault->status;
        value.end = walk->at;
        for (size_t k = 0; key.kind == CLP_WALK_TEXT && k < TOP_KEYS; k++) {
            if (key.count != strlen(top_names[k]) ||
                memcmp(walk->bytes + key.body, top_names[k], key.count) != 0)
                continue;
            if (spans[k].end != 0)
                return clp_fault_set(walk->fault, CLP_CORRUPT, key.start, "the top map has a key twice");
            spans[k] = value;
        }
    }
    return CLP_OK;
}

static clp_status check_format(struct decoder *decoder, struct span span)
{
    msgpack_object object;

    if (span.end == 0)
        return clp_fault_set(decoder->fault, CLP_NOT_A_PROFILE, 0, "it has no \"format\"");
    if (unpack(decoder, span, &object) != CLP_OK)
        return decoder->fault->status;
    if (!is_text(&object, CLP_WIRE_FORMAT))
        return clp_fault_set(decoder->fault, CLP_NOT_A_PROFILE, span.start,
                      "its \"format\" is not \"" CLP_WIRE_FORMAT "\"");
    return CLP_OK;
}

static clp_status check_version(struct decoder *decoder, struct span span)
{
    msgpack_object object;
    uint64_t version;

    if (span.end == 0)
        return refuse_here(decoder, "\"version\" is missing");
    if (unpack(decoder, span, &object) != CLP_OK)
        return decoder->fault->status;
    if (!read_uint64(&object, &version) || version == 0)
        return refuse_here(decoder, "\"version\" is not a version number");
    if (version > CLP_WIRE_VERSION)
        return clp_fault_set(decoder->fault, CLP_TOO_NEW, span.start, "its \"version\" is too high");
    return CLP_OK;
}

static clp_status read_unit(struct decoder *decoder, struct span span)
{
    msgpack_object object;
    double unit;

    if (span.end == 0)
        return CLP_OK;
    if (unpack(decoder, span, &object) != CLP_OK)
        return decoder->fault->status;
    if (!read_number(&object, &unit) || unit <= 0)
        return refuse_here(decoder, "\"unit\" is not a positive number of seconds");
    decoder->scale = unit / CLP_WIRE_UNIT;
    return CLP_OK;
}

/* Unpacks the items of an array one by one and hands each to `read`. */
static clp_status read_each(struct decoder *decoder, struct span span, const char *not_list,
                            clp_status (*read)(struct decoder *, const msgpack_object *))
{
    struct clp_walk walk = {.bytes = (const unsigned char *)decoder->bytes, .count = span.end,
                        .at = span.start, .fault = decoder->fault};
    struct clp_walk_head list;
    msgpack_object object;

    if (clp_walk_head(&walk, &list) != CLP_OK)
        return decoder->fault->status;
    if (list.kind != CLP_WALK_ARRAY)
        return clp_fault_set(decoder->fault, CLP_CORRUPT, span.start, not_list);
    for (uint64_t i = 0; i < list.count; i++) {
        struct span item = {.start = walk.at};
        if (clp_walk_item(&walk) != CLP_OK)
            return decoder->fault->status;
        item.end = walk.at;
        if (unpack(decoder, item, &object) != CLP_OK || read(decoder, &object) != CLP_OK)
            return decoder->fault->status;
    }
    return CLP_OK;
}

static clp_status read_top(struct decoder *decoder, const struct span *spans)
{
    msgpack_object meta;

    if (check_format(decoder, spans[TOP_FORMAT]) != CLP_OK ||
        check_version(decoder, spans[TOP_VERSION]) != CLP_OK ||
        read_unit(decoder, spans[TOP_UNIT]) != CLP_OK)
        return decoder->fault->status;
    if (spans[TOP_FUNCTIONS].end == 0)
        return refuse_here(decoder, "\"functions\" are missing");
    if (read_each(decoder, spans[TOP_FUNCTIONS], "\"functions\" are not a list", read_function) !=
        CLP_OK)
        return decoder->fault->status;
    if (spans[TOP_SOURCE].end != 0 &&
        read_each(decoder, spans[TOP_SOURCE], "\"source\" is not a list", read_source) != CLP_OK)
        return decoder->fault->status;
    if (spans[TOP_TIMELINE].end != 0 &&
        read_each(decoder, spans[TOP_TIMELINE], "\"timeline\" is not a list", read_series) != CLP_OK)
        return decoder->fault->status;
    if (spans[TOP_PROCESSES].end != 0 &&
        read_each(decoder, spans[TOP_PROCESSES], "\"processes\" is not a list", read_process) !=
            CLP_OK)
        return decoder->fault->status;
    if (spans[TOP_META].end == 0)
        return CLP_OK;
    if (unpack(decoder, spans[TOP_META], &meta) != CLP_OK)
        return decoder->fault->status;
    return read_meta(decoder, &meta);
}

static clp_status decode(struct decoder *decoder)
{
    struct clp_walk walk = {.bytes = (const unsigned char *)decoder->bytes, .count = decoder->count,
                        .fault = decoder->fault};
    struct span spans[TOP_KEYS] = {{0}};

    if (check_bytes(decoder->bytes, decoder->count, decoder->fault) != CLP_OK ||
        split_top(&walk, spans) != CLP_OK)
        return decoder->fault->status;
    return read_top(decoder, spans);
}

clp_status clp_wire_decode(const char *bytes, size_t count, struct clp_profile *profile,
                           struct clp_fault *fault)
{
    struct decoder decoder = {.bytes = bytes, .count = count, .profile = profile, .fault = fault,
                              .scale = 1};

    *fault = (struct clp_fault){.status = CLP_OK};
    clp_buf_init(&decoder.file, profile->mem);
    clp_buf_init(&decoder.name, profile->mem);
    if (!msgpack_zone_init(&decoder.zone, MSGPACK_ZONE_CHUNK_SIZE))
        return no_memory(&decoder);
    clp_status status = decode(&decoder);
    if (status != CLP_OK)
        clp_profile_clear(profile);
    msgpack_zone_destroy(&decoder.zone);
    clp_buf_clear(&decoder.file);
    clp_buf_clear(&decoder.name);
    return status;
}
