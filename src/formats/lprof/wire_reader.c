/* SPDX-License-Identifier: MIT */
#include "wire_reader.h"
#include "wire_calls.h"
#include "wire_fields.h"
#include "wire_functions.h"
#include "wire_objects.h"
#include "wire_run.h"
#include "wire_split.h"
#include "wire_texts.h"

/* ---- the check ---- */

bool clp_wire_is(const char *bytes, size_t count)
{
    static const char start[] = "\xa6" "format\xa9" CLP_WIRE_FORMAT;
    size_t wanted = sizeof start - 1;

    if (count == 0 || ((unsigned char)bytes[0] & 0xf0) != 0x80)
        return false;
    return memcmp(bytes + 1, start, count - 1 < wanted ? count - 1 : wanted) == 0;
}

/* Does all checks of the file that need no memory. */
static clp_status check_bytes(const char *bytes, size_t count, struct clp_fault *fault)
{
    struct clp_msgpack_check check = {.bytes = (const unsigned char *)bytes, .count = count, .fault = fault};

    if (count == 0)
        return clp_fault_set(fault, CLP_EMPTY, 0, NULL);
    clp_status status = clp_msgpack_check_item(&check);
    if (status == CLP_OK && check.at < count)
        status = clp_fault_set(fault, CLP_CORRUPT, check.at, "more bytes behind the end");
    if (status != CLP_OK && !clp_wire_is(bytes, count))
        status = clp_fault_set(fault, CLP_NOT_A_PROFILE, 0, "it does not begin like one");
    return status;
}

/* ---- the top map ---- */

enum { TOP_FORMAT, TOP_VERSION, TOP_UNIT, TOP_FUNCTIONS, TOP_SOURCE, TOP_META, TOP_TIMELINE,
       TOP_PROCESSES, TOP_CALLS, TOP_TEXTS, TOP_FILES, TOP_LINE_LOG, TOP_KEYS };

static const char *const top_names[TOP_KEYS] = {"format", "version", "unit",    "functions",
                                                "source", "meta",    "timeline", "processes",
                                                "calls",  "texts",   "files",    "line_log"};

static clp_status split_top(struct clp_msgpack_check *check, struct clp_wire_span *spans)
{
    struct clp_wire_split split = {top_names, TOP_KEYS, spans, 0};
    struct clp_msgpack_check_head top;

    if (clp_msgpack_check_head(check, &top) != CLP_OK)
        return check->fault->status;
    if (top.kind != CLP_MSGPACK_MAP)
        return clp_fault_set(check->fault, CLP_NOT_A_PROFILE, 0, "not a msgpack map");
    if (clp_wire_split_pairs(check, top.count, &split) != CLP_OK)
        return check->fault->status;
    return split.twice == 0 ? CLP_OK
                            : clp_fault_set(check->fault, CLP_CORRUPT, split.twice,
                                            "the top map has a key twice");
}

/* Unpacks a value of the top map. Faults point to its place from then on. */
static clp_status unpack(struct clp_decoder *decoder, struct clp_wire_span span,
                         msgpack_object *object)
{
    decoder->offset = span.start;
    return clp_wire_unpack(decoder, span, object);
}

static clp_status check_format(struct clp_decoder *decoder, struct clp_wire_span span)
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

static clp_status check_version(struct clp_decoder *decoder, struct clp_wire_span span)
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
        return clp_fault_set(decoder->fault, CLP_TOO_NEW, span.start,
                             "its \"version\" is too high");
    return CLP_OK;
}

static clp_status read_unit(struct clp_decoder *decoder, struct clp_wire_span span)
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

/* A list of the top map. */
struct list {
    int key;
    const char *not_list;
    clp_status (*read)(struct clp_decoder *decoder, struct clp_wire_span span);
};

/* In the order of reading: functions have parts of texts, and "source" gives functions their text. */
static const struct list lists[] = {
    {TOP_TEXTS, "\"texts\" are not a list", clp_wire_read_text},
    {TOP_FILES, "\"files\" are not a list", clp_wire_read_file},
    {TOP_FUNCTIONS, "\"functions\" are not a list", clp_wire_read_function},
    {TOP_SOURCE, "\"source\" is not a list", clp_wire_read_source},
    {TOP_TIMELINE, "\"timeline\" is not a list", clp_wire_read_series},
    {TOP_PROCESSES, "\"processes\" is not a list", clp_wire_read_process},
    {TOP_LINE_LOG, "\"line_log\" is not a list", clp_wire_read_line_log},
};

/* Reads each item of a list. Items that are wrong are left out. Refuses what is not a list. */
static clp_status read_list(struct clp_decoder *decoder, const struct list *list, struct clp_wire_span span)
{
    struct clp_msgpack_check check = clp_wire_walk(decoder, span);
    struct clp_msgpack_check_head head;

    if (clp_msgpack_check_head(&check, &head) != CLP_OK)
        return decoder->fault->status;
    if (head.kind != CLP_MSGPACK_ARRAY)
        return clp_fault_set(decoder->fault, CLP_CORRUPT, span.start, list->not_list);
    for (uint64_t i = 0; i < head.count; i++) {
        struct clp_wire_span item = {.start = check.at};
        if (clp_msgpack_check_item(&check) != CLP_OK)
            return decoder->fault->status;
        item.end = check.at;
        decoder->offset = item.start;
        if (list->read(decoder, item) != CLP_OK && clp_wire_leave_out(decoder, NULL) != CLP_OK)
            return decoder->fault->status;
    }
    return CLP_OK;
}

static clp_status read_meta(struct clp_decoder *decoder, struct clp_wire_span span)
{
    msgpack_object meta;

    return unpack(decoder, span, &meta) == CLP_OK ? clp_wire_read_meta(decoder, &meta) : decoder->fault->status;
}

static clp_status read_calls(struct clp_decoder *decoder, struct clp_wire_span span)
{
    decoder->offset = span.start;
    return clp_wire_read_calls(decoder, span);
}

/* Reads what the file is, without which nothing can be read. */
static clp_status read_frame(struct clp_decoder *decoder, const struct clp_wire_span *spans)
{
    if (check_format(decoder, spans[TOP_FORMAT]) != CLP_OK ||
        check_version(decoder, spans[TOP_VERSION]) != CLP_OK ||
        read_unit(decoder, spans[TOP_UNIT]) != CLP_OK)
        return decoder->fault->status;
    return spans[TOP_FUNCTIONS].end != 0 ? CLP_OK : refuse_here(decoder, "\"functions\" are missing");
}

static clp_status read_top(struct clp_decoder *decoder, const struct clp_wire_span *spans)
{
    if (read_frame(decoder, spans) != CLP_OK)
        return decoder->fault->status;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct clp_wire_span span = spans[lists[i].key];
        if (span.end != 0 && read_list(decoder, &lists[i], span) != CLP_OK &&
            (lists[i].key == TOP_FUNCTIONS || clp_wire_leave_out(decoder, NULL) != CLP_OK))
            return decoder->fault->status;
    }
    if (spans[TOP_CALLS].end != 0 && read_calls(decoder, spans[TOP_CALLS]) != CLP_OK &&
        clp_wire_leave_out(decoder, NULL) != CLP_OK)
        return decoder->fault->status;
    if (spans[TOP_META].end != 0 && read_meta(decoder, spans[TOP_META]) != CLP_OK)
        return clp_wire_leave_out(decoder, NULL);
    return CLP_OK;
}

static clp_status decode(struct clp_decoder *decoder)
{
    struct clp_msgpack_check check = {.bytes = (const unsigned char *)decoder->bytes, .count = decoder->count,
                        .fault = decoder->fault};
    struct clp_wire_span spans[TOP_KEYS] = {{0}};

    if (check_bytes(decoder->bytes, decoder->count, decoder->fault) != CLP_OK ||
        split_top(&check, spans) != CLP_OK)
        return decoder->fault->status;
    return read_top(decoder, spans);
}

static clp_status decode_into(struct clp_decoder *decoder)
{
    struct clp_profile *profile = decoder->profile;

    *decoder->fault = (struct clp_fault){.status = CLP_OK};
    decoder->scale = 1;
    clp_buf_init(&decoder->file, profile->mem);
    clp_buf_init(&decoder->name, profile->mem);
    if (!msgpack_zone_init(&decoder->zone, MSGPACK_ZONE_CHUNK_SIZE))
        return no_memory(decoder);
    clp_status status = decode(decoder);
    if (status != CLP_OK)
        clp_profile_clear(profile);
    msgpack_zone_destroy(&decoder->zone);
    clp_buf_clear(&decoder->file);
    clp_buf_clear(&decoder->name);
    return status;
}

clp_status clp_wire_decode(const char *bytes, size_t count, struct clp_profile *profile,
                           struct clp_fault *fault)
{
    struct clp_decoder decoder = {.bytes = bytes, .count = count, .profile = profile, .fault = fault};

    return decode_into(&decoder);
}

clp_status clp_wire_decode_in_place(struct clp_buf *bytes, struct clp_profile *profile,
                                    struct clp_fault *fault)
{
    struct clp_decoder decoder = {.bytes = clp_buf_text(bytes), .count = bytes->used,
                                  .profile = profile, .fault = fault, .in_place = true};

    clp_status status = decode_into(&decoder);
    if (status != CLP_OK)
        return status;
    profile->file = *bytes;
    profile->file_scale = decoder.scale;
    clp_buf_init(bytes, bytes->mem);
    return CLP_OK;
}
