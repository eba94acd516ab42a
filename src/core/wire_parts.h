/* SPDX-License-Identifier: MIT */
/* What the rooms of wire.h share; for nobody else.
 *
 *   wire.c             the columns and entries that there are, and writing
 *   wire_reader.c      reading: the walk, the top map, and finding what a map holds
 *   wire_rows.c        finding values and lines in place
 *   wire_functions.c   functions: their lines, leaks and source
 *   wire_run.c         the run: memory over time, processes, meta */
#ifndef CLP_WIRE_PARTS_H
#define CLP_WIRE_PARTS_H

#include "wire.h"
#include <math.h>
#include <msgpack.h>
#include <string.h>

#define CLP_WIRE_FORMAT "clineprof"
#define CLP_WIRE_UNIT 1e-9

/* ---- what the file is made of ---- */

/* One measure of a line and the column it is kept in. */
struct clp_wire_column {
    const char *name;
    size_t at; /* in struct clp_measures; both types have 8 bytes */
    bool is_signed;
    const char *not_list, *not_as_long, *not_number; /* reasons */
};

#define CLP_WIRE_ONE(...) +1
enum { CLP_WIRE_METAS = 0 CLP_META_TABLE(CLP_WIRE_ONE) };
#undef CLP_WIRE_ONE

extern const struct clp_wire_column clp_wire_columns[CLP_WIRE_COLUMNS];

/* One entry of the meta map and the field it is kept in. */
struct clp_wire_meta {
    const char *name;
    size_t at; /* in struct clp_profile_meta */
    enum { CLP_META_TEXT, CLP_META_COUNT, CLP_META_TIME, CLP_META_FLAG, CLP_META_SECONDS,
           CLP_META_ASKED /* a count that is 0 unless it was asked for */ } type;
    const char *wrong; /* reason */
};

extern const struct clp_wire_meta clp_wire_metas[CLP_WIRE_METAS];

/* ---- reading ---- */

/* The key of a function comes first in both of its maps. */
enum { CLP_KEY_FILE, CLP_KEY_LINE, CLP_KEY_NAME, CLP_KEYS };

/* Where a value lies in the file's bytes. */
struct clp_wire_span {
    size_t start, end; /* equal: not in the file */
};

struct clp_decoder {
    const char *bytes;
    size_t count;
    bool in_place; /* lines and sources stay where they are */
    struct clp_profile *profile;
    struct clp_fault *fault;
    double scale;  /* nanoseconds per tick of the file */
    size_t offset; /* of what is being converted, for the fault */
    msgpack_zone zone;
    struct clp_buf file, name; /* texts of the file lack the ending 0 */
};

static inline clp_status refuse_here(struct clp_decoder *decoder, const char *reason)
{
    return clp_fault_set(decoder->fault, CLP_CORRUPT, decoder->offset, reason);
}

static inline clp_status no_memory(struct clp_decoder *decoder)
{
    return clp_fault_set(decoder->fault, CLP_NO_MEMORY, decoder->offset, NULL);
}

/* Any text without a 0 in it: the profile's strings end at the first one. */
static inline bool is_plain_text(const msgpack_object *object)
{
    return object->type == MSGPACK_OBJECT_STR &&
           (object->via.str.size == 0 ||
            memchr(object->via.str.ptr, 0, object->via.str.size) == NULL);
}

static inline bool read_uint64(const msgpack_object *object, uint64_t *value)
{
    if (object->type != MSGPACK_OBJECT_POSITIVE_INTEGER)
        return false;
    *value = object->via.u64;
    return true;
}

static inline bool read_int64(const msgpack_object *object, uint64_t *value)
{
    if (object->type == MSGPACK_OBJECT_NEGATIVE_INTEGER) {
        *value = (uint64_t)object->via.i64;
        return true;
    }
    return read_uint64(object, value) && *value <= INT64_MAX;
}

static inline bool read_line_number(const msgpack_object *object, int32_t *line)
{
    uint64_t value;

    if (!read_uint64(object, &value) || value > INT32_MAX)
        return false;
    *line = (int32_t)value;
    return true;
}

/* The bytes have been walked over as far as `end`. */
static inline struct clp_walk clp_wire_walk(const struct clp_decoder *decoder,
                                            struct clp_wire_span span)
{
    return (struct clp_walk){.bytes = (const unsigned char *)decoder->bytes, .count = span.end,
                             .at = span.start, .fault = decoder->fault};
}

static inline bool read_number(const msgpack_object *object, double *value)
{
    if (object->type == MSGPACK_OBJECT_POSITIVE_INTEGER)
        *value = (double)object->via.u64;
    else if (object->type == MSGPACK_OBJECT_FLOAT32 || object->type == MSGPACK_OBJECT_FLOAT64)
        *value = object->via.f64;
    else
        return false;
    return isfinite(*value);
}

static inline bool read_time(const struct clp_decoder *decoder, const msgpack_object *object,
                             uint64_t *value)
{
    return read_uint64(object, value) && clp_profile_scale_time(decoder->scale, value);
}

/* On failure all functions below set decoder->fault, and return its status. */

/* ---- wire_reader.c ---- */

/* Sorts a map's values by `names`: found[i] is the value of names[i], NULL when it is not there.
 * Keys that are none of them are passed over. */
clp_status clp_wire_find_keys(struct clp_decoder *decoder, const msgpack_object *map,
                              const char *const *names, size_t count,
                              const msgpack_object **found);

/* The object lives in the zone until the next call; its texts lie in the file's bytes. */
clp_status clp_wire_unpack(struct clp_decoder *decoder, struct clp_wire_span span,
                           msgpack_object *object);

/* The text takes the place of what `copy` holds. */
clp_status clp_wire_copy_text(struct clp_decoder *decoder, const msgpack_object *object,
                              struct clp_buf *copy);

/* ---- wire_rows.c ---- */

/* Where the values of a map lie: spans[i] is that of names[i]. Other keys are passed over. */
struct clp_wire_split {
    const char *const *names;
    size_t count;
    struct clp_wire_span *spans;
    size_t twice; /* where a key stands that was there before; 0: none is */
};

/* Moves over so many pairs of a map. */
clp_status clp_wire_split_pairs(struct clp_walk *walk, uint64_t pairs,
                                struct clp_wire_split *split);

/* Finds where the values of a map lie: spans[i] is that of names[i]. What is no map, or has one of these keys
 * twice, is refused. */
clp_status clp_wire_split(struct clp_decoder *decoder, struct clp_wire_span map,
                          const char *const *names, size_t count, struct clp_wire_span *spans);

/* Finds the columns of a function's lines and moves to the first of these. */
clp_status clp_wire_find_columns(struct clp_decoder *decoder, struct clp_wire_span map,
                                 struct clp_wire_columns *columns);

/* Reads the line at which the columns stand, and moves behind it. */
clp_status clp_wire_read_row(struct clp_decoder *decoder, struct clp_wire_columns *columns,
                             struct clp_profile_line *row);

/* ---- wire_functions.c ---- */

clp_status clp_wire_read_function(struct clp_decoder *decoder, struct clp_wire_span span);
clp_status clp_wire_read_source(struct clp_decoder *decoder, struct clp_wire_span span);

/* ---- wire_run.c ---- */

clp_status clp_wire_read_series(struct clp_decoder *decoder, struct clp_wire_span span);
clp_status clp_wire_read_process(struct clp_decoder *decoder, struct clp_wire_span span);
clp_status clp_wire_read_meta(struct clp_decoder *decoder, const msgpack_object *object);

#endif
