/* SPDX-License-Identifier: MIT */
/* Defines the columns that a table of lines can have: their names, and how each shows a line's measures. */
#ifndef CLP_COLUMNS_H
#define CLP_COLUMNS_H

#include "base/buf.h"
#include "base/number.h"
#include "profile/profile.h"

/* Columns that show a measure in another form; besides them there is one column for each measure. Each has: the name
 * for --columns, title, width in characters, form, measure. */
#define CLP_COLUMN_FORMS(X)                              \
    X("per-hit", "Per Hit", 8, PER_HIT, time)            \
    X("percent", "% Time", 8, PERCENT, time)             \
    X("self-per-hit", "Self/Hit", 8, PER_HIT, self)      \
    X("self-percent", "% Self", 8, PERCENT, self)        \
    X("share", "% Program", 9, SHARE, self)

#define CLP_COLUMNS_MOST 24

#define CLP_COLUMN_ONE(...) +1
enum { CLP_COLUMNS_ALL = CLP_MEASURE_total CLP_COLUMN_FORMS(CLP_COLUMN_ONE) };
#undef CLP_COLUMN_ONE

enum clp_column_form {
    CLP_COLUMN_AMOUNT,  /* the measure itself; times in the report's unit */
    CLP_COLUMN_PER_HIT, /* the measure divided by the hits */
    CLP_COLUMN_PERCENT, /* the share of the function's time */
    CLP_COLUMN_SHARE,   /* the share of the time of the whole program (report/whole.h) */
};

struct clp_column {
    const char *name, *title;
    size_t width;
    enum clp_column_form form;
    enum clp_measure measure;
};

static inline bool clp_column_is_memory(const struct clp_column *column)
{
    return clp_measure_rows[column->measure].needs >= CLP_NEEDS_MEMORY;
}

/* The columns of a table, in the order shown. */
struct clp_columns {
    const struct clp_column *items[CLP_COLUMNS_MOST];
    size_t count;
};

/* Sets *columns from names with commas between them ("hits,time,self") and returns NULL. Otherwise leaves *columns as
 * it was and returns the first name that no column has (*bytes long, not ended by 0), or "" where there are more than
 * CLP_COLUMNS_MOST names. */
const char *clp_columns_parse(struct clp_columns *columns, const char *names, size_t *bytes);

/* Adds the column with this name, which must exist, if there is room for it. */
void clp_columns_add(struct clp_columns *columns, const char *name);

/* The least width of each column in characters; 0: the column's default width. */
struct clp_widths {
    size_t line, columns[CLP_COLUMNS_ALL];
};

#define CLP_WIDTH_MOST 200

/* Sets *widths from names and numbers ("line=8,time=14"). Returns false and leaves *widths as it was when `text` has
 * an unknown name, or a number that is not from 1 to CLP_WIDTH_MOST. */
bool clp_widths_parse(struct clp_widths *widths, const char *text);
struct clp_column_scale;

/* Returns the column's width in characters: the larger of its default width and the one in *widths. */
size_t clp_widths_of(const struct clp_widths *widths, const struct clp_column *column,
                     const struct clp_column_scale *scale);

/* Appends the names of all columns, with commas between. */
void clp_columns_add_names(struct clp_buf *out);

/* Does any line allocate memory that its increment does not show? Such a line allocates at least 1 MiB in all and
 * 64 KiB per hit, and grows by less than a quarter of the memory it allocates: it frees the memory again, or never
 * touches it. */
bool clp_columns_allocated_tells(const struct clp_profile *profile);

/* Did any line wait? A table that is not line_profiler's then has the column Await. */
bool clp_columns_await_tells(const struct clp_profile *profile);

/* Did garbage collections take at least 0.1 % of the time, the least share that a table shows? A table that is not
 * line_profiler's then has the column GC. */
bool clp_columns_gc_tells(const struct clp_profile *profile);

bool clp_columns_have(const struct clp_columns *columns, enum clp_measure measure);

/* How times are shown. */
struct clp_column_scale {
    double scalar;  /* units of the Time column in a nanosecond; 0: each time has the unit that fits it */
    bool raw_times; /* shows times as the clock saw them, with the profiler's own cost left in */
};

/* The times in nanoseconds of which a line's times are shares; 0: not known. */
struct clp_column_totals {
    double function, program;
};

/* Sets *cell, which must be empty, to the text of a line's cell. The cell stays empty for memory that was not
 * measured, for a change of memory that would be printed as 0.000, and for a share of a total that is not known. */
void clp_column_set_cell(const struct clp_column *column, const struct clp_column_scale *scale,
                         const struct clp_measures *measures, const struct clp_column_totals *totals,
                         struct clp_number *cell);

/* Returns a line's share in percent, never above 100, not even for the numbers of another profiler's file. */
double clp_column_share(double part, double total);

#endif
