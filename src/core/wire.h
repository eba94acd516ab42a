/* SPDX-License-Identifier: MIT */
/* The .lprof file: one msgpack map. docs/format.md draws it; here is the outline.
 *
 *   { "format": "clineprof", "version": 1, "unit": 1e-09,
 *     "functions": [ { "file": str, "line": int, "name": str, "total": int, "raw_total": int,
 *                      "lines": { "line": [int..], "hits": [int..], "time": [int..], .. } } .. ],
 *     "source": [ { "file": str, "line": int, "name": str, "text": str } .. ],
 *     "meta": { .. }, "timeline": [ { "pid": int, "start": float, "time": [..], "rss": [..] } .. ],
 *     "processes": [ { "pid": int, "start": float, "name": str, .., "numbers": bin } .. ] }
 *
 * Measures are columns by name (CLP_MEASURE_TABLE), all as long as "line"; a column that is zero
 * throughout is left out. Unknown keys and columns are skipped, so the format can grow.
 *
 * Text of the profiled program that is not UTF-8 is written as msgpack `bin` by no writer of ours:
 * source and names are UTF-8 before they reach a profile. */
#ifndef CLP_WIRE_H
#define CLP_WIRE_H

#include "buf.h"
#include "profile.h"
#include "status.h"
#include "walk.h"

#define CLP_WIRE_VERSION 1

/* Do the bytes, as far as they reach, begin as every writer of ours begins? */
bool clp_wire_is(const char *bytes, size_t count);

/* Appends the profile as msgpack. CLP_NO_MEMORY leaves the buffer with a part of it. */
clp_status clp_wire_encode(const struct clp_profile *profile, struct clp_buf *out);

/* Reads bytes into an initialised, empty profile. The bytes are walked once without allocating
 * (types, depth, declared lengths against the bytes left, a cap on the sum of elements) before
 * msgpack-c sees them. On failure the profile is empty again and *fault says where and why. */
clp_status clp_wire_decode(const char *bytes, size_t count, struct clp_profile *profile,
                           struct clp_fault *fault);

/* Reads as clp_wire_decode, but lines and sources stay in the file's bytes, which the profile takes over on
 * success: for who looks at lines one after the other and has no use for more memory than the file's. Such a
 * profile is as any other but for `lines`: struct clp_wire_rows reads them. It cannot be merged or written. */
clp_status clp_wire_decode_in_place(struct clp_buf *bytes, struct clp_profile *profile,
                                    struct clp_fault *fault);

#define CLP_WIRE_ONE(...) +1
enum { CLP_WIRE_COLUMNS = 0 CLP_MEASURE_TABLE(CLP_WIRE_ONE) };
#undef CLP_WIRE_ONE

/* The columns of a packed function, each as far as it has been read: [0] is "line". Without bytes: the
 * file has none of it. */
struct clp_wire_columns {
    struct clp_walk walks[CLP_WIRE_COLUMNS + 1];
    uint64_t count;
};

/* The lines of a function, packed or not, one by one. A copy serves to come back to a line, in the struct that
 * it was made of: `at` may point into it. */
struct clp_wire_rows {
    const struct clp_profile_line *at; /* the one at hand; NULL: there are no more */
    const struct clp_profile_function *function;
    size_t next; /* the place of the one behind it */
    double scale;
    struct clp_profile_line row;
    struct clp_wire_columns columns;
};

void clp_wire_rows_start(struct clp_wire_rows *rows, const struct clp_profile *profile,
                         const struct clp_profile_function *function);
void clp_wire_rows_next(struct clp_wire_rows *rows);

#endif
