/* SPDX-License-Identifier: MIT */
#include "measures.h"
#include "base/words.h"
#include <string.h>

#define SIGNED_uint64_t false
#define SIGNED_int64_t true
#define ROW(field, type, merge, kind, needs, page, width, name, title, about, at, kept)             \
    {#field, name, title, about, width, at, CLP_MEASURE_##kind, CLP_MERGE_##merge, CLP_NEEDS_##needs, \
     page, SIGNED_##type, kept},
#define KEPT(field, ...) ROW(field, __VA_ARGS__, offsetof(struct clp_measures, field), true)
#define WORKED_OUT(field, ...) ROW(field, __VA_ARGS__, 0, false)
const struct clp_measure_row clp_measure_rows[CLP_MEASURES] = {
    CLP_MEASURE_TABLE(KEPT, WORKED_OUT)
    WORKED_OUT(total, uint64_t, SUM, NANOS, TIMES, 3, 12, "total", "Total", "time of a whole function")
};

enum clp_measure clp_measure_named(const char *name, size_t bytes)
{
    unsigned at = 0;

    while (at < CLP_MEASURES && (strncmp(clp_measure_rows[at].name, name, bytes) != 0 ||
                                 clp_measure_rows[at].name[bytes] != 0))
        at++;
    return (enum clp_measure)at;
}

void clp_measure_add_names(struct clp_buf *out, enum clp_measure end)
{
    for (unsigned i = 0; i < end; i++)
        clp_buf_add_format(out, "%s%s", i == 0 ? "" : ",", clp_measure_rows[i].name);
}

static void refuse(struct clp_buf *fault, const char *name, size_t bytes)
{
    struct clp_buf names;

    clp_buf_init(&names, fault->mem);
    clp_measure_add_names(&names, CLP_MEASURE_total);
    clp_words_refuse(fault, "some of ", clp_buf_text(&names), name, bytes);
    clp_buf_clear(&names);
}

bool clp_measure_list_read(struct clp_measure_list *list, const char *names, struct clp_buf *fault)
{
    struct clp_measure_list found = {.count = 0};
    size_t bytes;

    for (const char *at = names;; at += bytes + 1) {
        bytes = strcspn(at, ",");
        enum clp_measure measure = clp_measure_named(at, bytes);
        if (found.count == CLP_MEASURES) {
            clp_buf_add_format(fault, "takes at most %d names", (int)CLP_MEASURES);
            return false;
        }
        if (measure >= CLP_MEASURE_total) {
            refuse(fault, at, bytes);
            return false;
        }
        found.items[found.count++] = measure;
        if (at[bytes] == 0)
            break;
    }
    *list = found;
    return true;
}

double clp_measure_value(enum clp_measure measure, const struct clp_measures *measures)
{
    switch (measure) {
#define CASE(field, ...)      \
    case CLP_MEASURE_##field: \
        return (double)measures->field;
        CLP_MEASURE_TABLE(CASE, CLP_MEASURE_SKIP)
#undef CASE
    case CLP_MEASURE_increment:
        return (double)clp_measures_increment(measures);
    case CLP_MEASURE_total: /* merged measures of a whole function hold the function's total as their time */
        return (double)measures->time;
    case CLP_MEASURES:
        break;
    }
    return 0;
}

enum clp_measure clp_measure_raw(enum clp_measure measure)
{
    return measure == CLP_MEASURE_time   ? CLP_MEASURE_raw_time
           : measure == CLP_MEASURE_self ? CLP_MEASURE_raw_self
                                         : measure;
}

/* ---- merging ---- */

uint64_t clp_measures_sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Adds, and stops at the ends of int64_t: the file of another tool may hold any number. */
static int64_t sum_int64_t(int64_t a, int64_t b)
{
    if (b > 0 && a > INT64_MAX - b)
        return INT64_MAX;
    if (b < 0 && a < INT64_MIN - b)
        return INT64_MIN;
    return a + b;
}

static uint64_t max_uint64_t(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static int64_t maxabs_int64_t(int64_t a, int64_t b)
{
    return magnitude(b) > magnitude(a) ? b : a;
}

#define sum_uint64_t clp_measures_sum
#define SUM(type) sum_##type
#define MAX(type) max_##type
#define MAXABS(type) maxabs_##type

void clp_measures_merge(struct clp_measures *into, const struct clp_measures *from)
{
#define MERGE(field, type, merge, ...) into->field = merge(type)(into->field, from->field);
    CLP_MEASURE_TABLE(MERGE, CLP_MEASURE_SKIP)
#undef MERGE
}

int64_t clp_measures_increment(const struct clp_measures *measures)
{
    uint64_t grown = measures->grown, released = measures->released;

    if (grown >= released)
        return grown - released > INT64_MAX ? INT64_MAX : (int64_t)(grown - released);
    return released - grown > INT64_MAX ? -INT64_MAX : -(int64_t)(released - grown);
}
