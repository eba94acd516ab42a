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

#include "base/buf.h"
#include "profile/profile.h"
#include "base/status.h"

/* Appends the profile as msgpack. CLP_NO_MEMORY leaves the buffer with a part of it. */
clp_status clp_wire_encode(const struct clp_profile *profile, struct clp_buf *out);

#endif
