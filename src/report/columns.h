/* SPDX-License-Identifier: MIT */
/* The columns that a table of lines can have: their names, and how each shows a line's measures. */
#ifndef CLP_COLUMNS_H
#define CLP_COLUMNS_H

#include "base/buf.h"
#include "base/number.h"
#include "profile/profile.h"

/* What a column shows: its name for --columns, title, width, and how the value is printed: COUNT
 * (of hits), TICKS (a time in the report's unit), PER_HIT (the same by hit), PERCENT (of the
 * function's time), BYTES, NUMBER (where memory was measured); last the measure that it is taken
 * from. */
#define CLP_COLUMN_TABLE(X)                                              \
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
    X("largest", "Largest", 12, BYTES, largest)                          \
    X("allocated", "Allocated", 12, BYTES, allocated)                    \
    X("blocks", "Blocks", 9, NUMBER, blocks)                             \
    X("live", "Live", 12, BYTES, live)                                   \
    X("live-blocks", "Live blocks", 11, NUMBER, live_blocks)             \
    X("heap-peak", "At peak", 12, BYTES, heap_peak)                      \
    X("freed-in-line", "Freed here", 12, BYTES, freed_in_line)           \
    X("native", "Native", 12, BYTES, native)                             \
    X("native-blocks", "Native blocks", 13, NUMBER, native_blocks)

#define CLP_COLUMNS_MOST 16

#define CLP_COLUMN_ONE(name, title, width, format, value) +1
enum { CLP_COLUMNS_ALL = 0 CLP_COLUMN_TABLE(CLP_COLUMN_ONE) };
#undef CLP_COLUMN_ONE

enum clp_column_format {
    CLP_COLUMN_COUNT,
    CLP_COLUMN_TICKS,
    CLP_COLUMN_PER_HIT,
    CLP_COLUMN_PERCENT,
    CLP_COLUMN_BYTES,
    CLP_COLUMN_NUMBER
};

struct clp_column {
    const char *name, *title;
    size_t width;
    enum clp_column_format format;
    enum clp_measures_field value;
};

static inline bool clp_column_is_memory(const struct clp_column *column)
{
    return column->format == CLP_COLUMN_BYTES || column->format == CLP_COLUMN_NUMBER;
}

/* The columns that are asked for, in their order. */
struct clp_columns {
    const struct clp_column *items[CLP_COLUMNS_MOST];
    size_t count;
};

/* Sets *columns from names between commas ("hits,time,self"). NULL, or the first name that is no
 * column's (not ended by 0: *bytes long), or "" where there are too many; *columns is then as it
 * was. */
const char *clp_columns_parse(struct clp_columns *columns, const char *names, size_t *bytes);

/* Adds the column of this name, where there is room. */
void clp_columns_add(struct clp_columns *columns, const char *name);

/* Characters that columns have at least; 0: as always. */
struct clp_widths {
    size_t line, columns[CLP_COLUMNS_ALL];
};

#define CLP_WIDTH_MOST 200

/* Sets *widths from names and numbers ("line=8,time=14"). False, *widths as it was, when there is
 * another name or a number not from 1 to CLP_WIDTH_MOST among them. */
bool clp_widths_parse(struct clp_widths *widths, const char *text);
size_t clp_widths_of(const struct clp_widths *widths, const struct clp_column *column);

/* Appends the names of all columns, with commas between. */
void clp_columns_add_names(struct clp_buf *out);

/* Does some line ask for memory of which its increment tells nothing: for 1 MiB or more in all, 64 KiB or more
 * each time, and grow by less than a quarter of that? It gives it back, or never touches it. */
bool clp_columns_allocated_tells(const struct clp_profile *profile);

/* The options that a run must have for the column to have anything; NULL where this profile's had. */
const char *clp_column_lacks(const struct clp_column *column, const struct clp_profile_meta *meta);

/* What cells are made with. */
struct clp_column_scale {
    double scalar;  /* units of the Time column in a nanosecond */
    bool raw_times; /* as the clock saw them, the profiler's own cost left in */
};

/* The text of a line's cell; `total` is the function's time. Empty where the measure was not taken, or
 * came in with a profile without it; and where bytes, other than what is resident, are 0 as printed. */
void clp_column_set_cell(const struct clp_column *column, const struct clp_column_scale *scale,
                         const struct clp_measures *measures, double total,
                         struct clp_number *cell);

/* A line's share in percent, never above 100 whatever a foreign file says. */
double clp_column_share(double part, double total);

#endif
