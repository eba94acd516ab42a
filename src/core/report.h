/* SPDX-License-Identifier: MIT */
/* The annotated text table, exact to the character: line_profiler's where a profile has no
 * memory, and two more columns (Mem usage, Increment) where it has; or the columns that are asked
 * for. The line's number stands first and its text last, always. */
#ifndef CLP_REPORT_H
#define CLP_REPORT_H

#include "buf.h"
#include "profile.h"

/* What a column shows: its name for --columns, title, width, and how the value is printed: COUNT,
 * TICKS (a time in the report's unit), PER_HIT (the same by hit), PERCENT (of the function's time),
 * BYTES; last the measure that it is taken from. */
#define CLP_REPORT_COLUMN_TABLE(X)                                       \
    X("hits", "Hits", 9, COUNT, hits)                                    \
    X("time", "Time", 12, TICKS, time)                                   \
    X("per-hit", "Per Hit", 8, PER_HIT, time)                            \
    X("percent", "% Time", 8, PERCENT, time)                             \
    X("mem", "Mem usage", 12, BYTES, rss)                                \
    X("increment", "Increment", 12, BYTES, increment)                    \
    X("self", "Self", 12, TICKS, self)                                   \
    X("self-per-hit", "Self/Hit", 8, PER_HIT, self)                      \
    X("self-percent", "% Self", 8, PERCENT, self)                        \
    X("await", "Await", 12, TICKS, await)                                \
    X("max", "Max", 12, TICKS, max)                                      \
    X("grown", "Grown", 12, BYTES, grown)                                \
    X("released", "Released", 12, BYTES, released)                       \
    X("self-increment", "Self incr.", 12, BYTES, self_increment)         \
    X("largest", "Largest", 12, BYTES, largest)

#define CLP_REPORT_MAX_COLUMNS 16

/* By what functions are sorted: all ascending, so that what matters stands last, near the prompt. */
#define CLP_REPORT_ORDER_TABLE(X) \
    X(ORDER, "order")             \
    X(TIME, "time")               \
    X(SELF, "self")               \
    X(MEM, "mem")                 \
    X(INCREMENT, "increment")     \
    X(HITS, "hits")               \
    X(NAME, "name")

#define CLP_REPORT_ORDER_NAME(order, name) CLP_REPORT_BY_##order,
enum clp_report_order { CLP_REPORT_ORDER_TABLE(CLP_REPORT_ORDER_NAME) CLP_REPORT_ORDERS };
#undef CLP_REPORT_ORDER_NAME

struct clp_report_options {
    double unit;           /* seconds per unit of the Time column; 1e-6 is the default */
    bool skip_zero;        /* -z: leave out functions without a hit */
    enum clp_report_order order;
    unsigned char columns[CLP_REPORT_MAX_COLUMNS]; /* places in the table above */
    size_t column_count;   /* 0: the usual ones */
    bool self;             /* to the usual ones those without selected callees */
    bool summarize;        /* -m: a line per function at the end */
    bool no_memory;        /* the plain table although the profile has memory */
    bool raw_times;        /* as the clock saw them, the profiler's own cost left in */
    const char *folder;    /* file names under it are shown relative to it; NULL: as they are */
};

struct clp_report_options clp_report_defaults(void);

/* Sets options->columns from names between commas ("hits,time,self"). NULL, or the first name that is
 * no column's (not ended by 0: *bytes long), or "" where there are too many; *options is then as it
 * was. */
const char *clp_report_set_columns(struct clp_report_options *options, const char *names,
                                   size_t *bytes);

/* Appends the names of all columns, with commas between. */
void clp_report_add_columns(struct clp_buf *out);

/* The order of this name; CLP_REPORT_ORDERS when there is none. */
enum clp_report_order clp_report_order_named(const char *name);

/* Appends the whole report. CLP_NO_MEMORY leaves the buffer with a part of it. */
clp_status clp_report_text(const struct clp_profile *profile,
                           const struct clp_report_options *options, struct clp_buf *out);

#endif
