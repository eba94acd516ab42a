/* SPDX-License-Identifier: MIT */
/* Parts of a file as objects of msgpack-c: unpacks them, reads values by their kind, and finds what a map
 * holds. */
#ifndef CLP_WIRE_OBJECTS_H
#define CLP_WIRE_OBJECTS_H

#include "wire_decoder.h"
#include <math.h>
#include <string.h>

/* The keys that name a function. They come first in each map that names one. */
enum { CLP_KEY_FILE, CLP_KEY_LINE, CLP_KEY_NAME, CLP_KEYS };

/* The readers of values below leave *value as it is where they return false. */

/* Is it a text without a 0 in it? The profile's strings end at the first 0. */
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

static inline bool read_line_number(const msgpack_object *object, int32_t *line)
{
    uint64_t value;

    if (!read_uint64(object, &value) || value > INT32_MAX)
        return false;
    *line = (int32_t)value;
    return true;
}

static inline bool read_number(const msgpack_object *object, double *value)
{
    if (object->type == MSGPACK_OBJECT_POSITIVE_INTEGER)
        *value = (double)object->via.u64;
    else if ((object->type == MSGPACK_OBJECT_FLOAT32 || object->type == MSGPACK_OBJECT_FLOAT64) &&
             isfinite(object->via.f64))
        *value = object->via.f64;
    else
        return false;
    return true;
}

static inline bool read_time(const struct clp_decoder *decoder, const msgpack_object *object,
                             uint64_t *value)
{
    uint64_t time;

    if (!read_uint64(object, &time) || !clp_profile_scale_time(decoder->scale, &time))
        return false;
    *value = time;
    return true;
}

static inline bool is_text(const msgpack_object *object, const char *text)
{
    return object->type == MSGPACK_OBJECT_STR && object->via.str.size == strlen(text) &&
           memcmp(object->via.str.ptr, text, object->via.str.size) == 0;
}

/* All of the following functions set decoder->fault on failure, and return its status. */

/* Sets found[i] to the map's value for names[i], or to NULL where the map does not have that key. Other keys
 * are ignored. A map with the same key twice is refused. */
clp_status clp_wire_find_keys(struct clp_decoder *decoder, const msgpack_object *map,
                              const char *const *names, size_t count,
                              const msgpack_object **found);

/* Unpacks the value at `span`. The object lives in the decoder's zone until the next call. Its texts lie in the
 * file's bytes. */
clp_status clp_wire_unpack(struct clp_decoder *decoder, struct clp_wire_span span,
                           msgpack_object *object);

/* Replaces what `copy` holds by the text. */
clp_status clp_wire_copy_text(struct clp_decoder *decoder, const msgpack_object *object,
                              struct clp_buf *copy);

#endif
