/* SPDX-License-Identifier: MIT */
/* The .lprof file: one msgpack map. docs/format.md describes it; here is the outline.
 *
 *   { "format": "clineprof", "version": 1, "unit": 1e-09,
 *     "functions": [ { "file": str, "line": int, "name": str, "total": int, "raw_total": int,
 *                      "lines": { "line": [int..], "hits": [int..], "time": [int..], .. },
 *                      "text": [int, int, int] } .. ],
 *     "texts": [ str .. ], "files": [ { "file": str, "text": int } .. ],
 *     "meta": { .. }, "timeline": [ { "pid": int, "start": float, "time": [..], "rss": [..] } .. ],
 *     "processes": [ { "pid": int, "start": float, "name": str, .., "numbers": bin } .. ] }
 *
 * Measures are columns, named as in CLP_MEASURE_TABLE, and all as long as "line". A column that holds nothing
 * but zeros is left out. Readers skip unknown keys and columns, so the format can grow.
 *
 * The writer never writes a text as msgpack `bin`: source and names are UTF-8 before they reach a profile. */
#ifndef CLP_WIRE_H
#define CLP_WIRE_H

#include "base/buf.h"
#include "profile/profile.h"
#include "base/status.h"

/* Appends the profile as msgpack. CLP_NO_MEMORY leaves a part of the profile in the buffer. */
clp_status clp_wire_encode(const struct clp_profile *profile, struct clp_buf *out);

#endif
