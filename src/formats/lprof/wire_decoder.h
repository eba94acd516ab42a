/* SPDX-License-Identifier: MIT */
/* The state of reading a .lprof file, which the readers of all its parts share. */
#ifndef CLP_WIRE_DECODER_H
#define CLP_WIRE_DECODER_H

#include "base/buf.h"
#include "profile/profile.h"
#include "base/status.h"
#include "msgpack_check.h"
#include <msgpack.h>
#include <stdbool.h>
#include <stddef.h>

/* The place of a value in the file's bytes. */
struct clp_wire_span {
    size_t start, end; /* equal: the file does not have the value */
};

struct clp_decoder {
    const char *bytes;
    size_t count;
    bool in_place; /* lines and sources stay in the file's bytes (clp_wire_decode_in_place) */
    struct clp_profile *profile;
    struct clp_fault *fault;
    double scale;  /* nanoseconds per tick of the file */
    uint64_t parts_left; /* bytes of text that functions and files may still have (wire_texts.h) */
    size_t offset; /* of the value being converted, for the fault */
    msgpack_zone zone;
    bool lost_function; /* was a function left out as a whole? Then the calls do not know theirs by number */
    struct clp_buf file, name; /* copies of texts: in the file they lack the ending 0 */
};

static inline clp_status refuse_here(struct clp_decoder *decoder, const char *reason)
{
    return clp_fault_set(decoder->fault, CLP_CORRUPT, decoder->offset, reason);
}

static inline clp_status no_memory(struct clp_decoder *decoder)
{
    return clp_fault_set(decoder->fault, CLP_NO_MEMORY, decoder->offset, NULL);
}

/* Leaves out what has just been refused: counts it in profile->left_out_count, tells the first one in
 * profile->left_out, and clears the fault, so that reading can go on. `function`: whose part it is; NULL: of none. Returns CLP_OK, or the fault's status if it is no damage. */
clp_status clp_wire_leave_out(struct clp_decoder *decoder, const struct clp_profile_function *function);

/* Starts a check of the value at `span`, which must have been checked before up to its end. */
static inline struct clp_msgpack_check clp_wire_walk(const struct clp_decoder *decoder,
                                                     struct clp_wire_span span)
{
    return (struct clp_msgpack_check){.bytes = (const unsigned char *)decoder->bytes, .count = span.end,
                                      .at = span.start, .fault = decoder->fault};
}

#endif
