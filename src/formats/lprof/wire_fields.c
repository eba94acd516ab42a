/* SPDX-License-Identifier: MIT */
#include "wire_fields.h"

#define SIGNED_uint64_t false
#define SIGNED_int64_t true
#define COLUMN(name, type, merge, kind, ...)                                      \
    {#name, offsetof(struct clp_measures, name), SIGNED_##type,                   \
     CLP_MEASURE_##kind == CLP_MEASURE_NANOS,                                     \
     "column \"" #name "\" is not a list",                                        \
     "columns \"" #name "\" and \"line\" are not equally long",                   \
     "column \"" #name "\" holds something that is not a number in its range"},
const struct clp_wire_column clp_wire_columns[CLP_WIRE_COLUMNS] = {
    CLP_MEASURE_TABLE(COLUMN, CLP_MEASURE_SKIP)
};
#undef COLUMN

#define CALLS(name, lowest, highest, is_time)                             \
    {#name, lowest, highest, (lowest) < 0, is_time,                       \
     "column \"" #name "\" of \"calls\" is not a list",                     \
     "columns \"" #name "\" and \"function\" of \"calls\" are not equally long", \
     "column \"" #name "\" of \"calls\" holds something that is not a number in its range"},
const struct clp_wire_call_column clp_wire_calls[CLP_WIRE_CALLS] = {CLP_WIRE_CALL_TABLE(CALLS)};
#undef CALLS

#define WHAT_TEXT "a text"
#define WHAT_COUNT "a whole number"
#define WHAT_ASKED "a whole number"
#define WHAT_TIME "a time"
#define WHAT_FLAG "true or false"
#define WHAT_SECONDS "a finite number"
#define META(name, kind)                                              \
    {#name, offsetof(struct clp_profile_meta, name), CLP_META_##kind, \
     "meta \"" #name "\" is not " WHAT_##kind},
const struct clp_wire_meta clp_wire_metas[CLP_WIRE_METAS] = {CLP_META_TABLE(META)};
#undef META
