/* SPDX-License-Identifier: MIT */
/* The columns that a table of lines can have: their names, and how each shows a line's measures. */
#ifndef CLP_COLUMNS_H
#define CLP_COLUMNS_H

#include "base/buf.h"
#include "base/number.h"
#include "profile/profile.h"

/* A column for each measure, and these, which show one in another form: name for --columns, title, width, form,
 * measure. */
#define CLP_COLUMN_FORMS(X)                              \
    X("per-hit", "Per Hit", 8, PER_HIT, time)            \
    X("percent", "% Time", 8, PERCENT, time)             \
    X("self-per-hit", "Self/Hit", 8, PER_HIT, self)      \
    X("self-percent", "% Self", 8, PERCENT, self)

#define CLP_COLUMNS_MOST 16

#define CLP_COLUMN_ONE(...) +1
enum { CLP_COLUMNS_ALL = CLP_MEASURE_total CLP_COLUMN_FORMS(CLP_COLUMN_ONE) };
#undef CLP_COLUMN_ONE

enum clp_column_form {
    CLP_COLUMN_AMOUNT, /* of a time in the report's unit */
    CLP_COLUMN_PER_HIT,
    CLP_COLUMN_PERCENT, /* of the function's time */
};

struct clp_column {
    const char *name, *title;
    size_t width;
    enum clp_column_form form;
    enum clp_measure measure;
};

static inline bool clp_column_is_memory(const struct clp_column *column)
{
    return clp_measure_rows[column->measure].needs != CLP_NEEDS_TIMES;
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
