/* SPDX-License-Identifier: MIT */
/* What a .lprof file (wire.h) consists of: the columns of lines, of calling contexts, and the entries of meta. */
#ifndef CLP_WIRE_FIELDS_H
#define CLP_WIRE_FIELDS_H

#include "profile/profile.h"
#include <stdbool.h>
#include <stddef.h>

#define CLP_WIRE_VERSION 1
#define CLP_WIRE_FORMAT "clineprof"
#define CLP_WIRE_UNIT 1e-9

#define CLP_WIRE_ONE(...) +1
enum { CLP_WIRE_COLUMNS = 0 CLP_MEASURE_TABLE(CLP_WIRE_ONE, CLP_MEASURE_SKIP) };
#undef CLP_WIRE_ONE

/* The numbers that "spread" has for each line (struct clp_profile_spread). */
#define CLP_WIRE_SPREAD 5

/* A measure of a line, and the column that holds it. */
struct clp_wire_column {
    const char *name;
    size_t at; /* offset in struct clp_measures; both types have 8 bytes */
    bool is_signed;
    bool is_time; /* the file's unit scales it */
    const char *not_list, *not_as_long, *not_number; /* reasons for a fault */
};

/* The columns of calling contexts: name, lowest value as int64_t, highest as uint64_t, whether the file's unit scales
 * it. A function of -1 stands for CLP_CALL_DEEPER. */
#define CLP_WIRE_CALL_TABLE(X)               \
    X(parent, 0, UINT32_MAX - 1, false)      \
    X(line, 0, INT32_MAX, false)             \
    X(function, -1, UINT32_MAX - 1, false)   \
    X(through, 0, 1, false)                  \
    X(calls, 0, UINT64_MAX, false)           \
    X(time, 0, UINT64_MAX, true)             \
    X(again, 0, UINT64_MAX, true)            \
    X(increment, INT64_MIN, INT64_MAX, false)

#define CLP_WIRE_ONE(name, ...) CLP_WIRE_CALL_##name,
enum clp_wire_call { CLP_WIRE_CALL_TABLE(CLP_WIRE_ONE) CLP_WIRE_CALLS };
#undef CLP_WIRE_ONE

struct clp_wire_call_column {
    const char *name;
    int64_t lowest;
    uint64_t highest;
    bool is_signed, is_time;
    const char *not_list, *not_as_long, *not_number; /* reasons for a fault */
};

extern const struct clp_wire_call_column clp_wire_calls[CLP_WIRE_CALLS];

#define CLP_WIRE_ONE(...) +1
enum { CLP_WIRE_METAS = 0 CLP_META_TABLE(CLP_WIRE_ONE) };
#undef CLP_WIRE_ONE

extern const struct clp_wire_column clp_wire_columns[CLP_WIRE_COLUMNS];

/* An entry of the meta map, and the field that holds it. */
struct clp_wire_meta {
    const char *name;
    size_t at; /* offset in struct clp_profile_meta */
    enum { CLP_META_TEXT, CLP_META_COUNT, CLP_META_TIME, CLP_META_FLAG, CLP_META_SECONDS,
           CLP_META_ASKED /* a count that is 0, and not written, unless somebody asked for it */ } type;
    const char *wrong; /* reason for a fault */
};

extern const struct clp_wire_meta clp_wire_metas[CLP_WIRE_METAS];

#endif
