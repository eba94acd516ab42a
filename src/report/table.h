/* SPDX-License-Identifier: MIT */
/* The cells of a table of lines: first all of them as text, because a column is as wide as its widest
 * cell, then, row by row, the output. The rows are kept in one scratch array that all tables share.
 *
 * A table can be marked for clineprof/_report/terminal.py, which colours it: control characters cannot
 * occur in what is shown of a program, so the lines of a marked report start with one.
 *
 *   CLP_MARK_HEADING  a line of a heading
 *   CLP_MARK_TITLES   the titles of a table; before each stands CLP_MARK_TITLE and a letter:
 *                     n line number, l file and line, f function, c count, t time, p percent, b bytes,
 *                     s source
 *   CLP_MARK_ROW      a row: two digits, the heat of its time (e where that is an estimate) and of its
 *                     memory, then the cells with CLP_MARK_CELL between them
 *   CLP_MARK_FOLDED   the row that stands for some that are not shown
 *   CLP_MARK_HIDDEN   the text of one of those: nothing to be shown, but a string may begin there */
#ifndef CLP_TABLE_H
#define CLP_TABLE_H

#include "base/buf.h"
#include "columns.h"
#include "profile/source.h"

#define CLP_MARK_HEADING "\x01"
#define CLP_MARK_TITLES "\x02"
#define CLP_MARK_ROW "\x03"
#define CLP_MARK_HIDDEN "\x04"
#define CLP_MARK_FOLDED "\x05"
#define CLP_MARK_TITLE "\x1e"
#define CLP_MARK_CELL "\x1f"

struct clp_table_row {
    struct clp_number cells[CLP_COLUMNS_MOST];
    double time, memory; /* percent of the function's time, and of what its lines add and give back */
    bool data;           /* was the line ever executed? */
    bool estimate;       /* is its time below what can be resolved? */
};

struct clp_table {
    struct clp_buf *out;                 /* borrowed */
    const struct clp_columns *columns;   /* borrowed */
    const struct clp_column_scale *scale; /* borrowed */
    const struct clp_widths *widths_least; /* borrowed */
    bool marked;
    struct clp_table_row *rows; /* owned; clp_table_clear */
    size_t count, room;
    size_t widths[CLP_COLUMNS_MOST];
};

/* What shares are of. */
struct clp_table_total {
    double time, memory;
};

/* The bytes by which a line moves memory, up or down; 0 where that is too little to mean something. */
double clp_table_moved(const struct clp_measures *measures);

/* Starts a table with room for so many rows. Each row of it must be set before the first one is shown, for
 * that is how its columns get their widths; when not all are kept, rows are set again, one in the place of
 * the other, to be shown. CLP_NO_MEMORY leaves the last table. */
clp_status clp_table_start(struct clp_table *table, size_t count);
void clp_table_set_row(struct clp_table *table, size_t at, const struct clp_measures *measures,
                       const struct clp_table_total *total);
void clp_table_clear(struct clp_table *table);

/* The line of titles: its start, the titles before the columns, then those of the columns and a rule
 * below, which goes under the `before` characters of the first ones too. */
void clp_table_start_titles(const struct clp_table *table);
void clp_table_add_title(const struct clp_table *table, char letter, size_t width,
                         const char *title);
void clp_table_add_titles(const struct clp_table *table, size_t before);

/* The start of a row (NULL: without data), then what stands before the columns, then the cells. */
void clp_table_start_row(const struct clp_table *table, const struct clp_table_row *row);
void clp_table_add_cells(const struct clp_table *table, const struct clp_table_row *row);
/* The last cell. */
void clp_table_add_source(const struct clp_table *table, const char *lead, struct clp_span text);

#endif
