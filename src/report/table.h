/* SPDX-License-Identifier: MIT */
/* Prints the cells of a table of lines. All cells are made as text first, because a column is as wide as its widest
 * cell. Then the table is written row by row. All tables of a report share one scratch array of rows.
 *
 * A table can be marked for clineprof/_report/terminal.py, which colours it. The lines of a marked report start with
 * a control character: the text of a program is escaped, so it never contains one.
 *
 *   CLP_MARK_HEADING  a line of a heading
 *   CLP_MARK_TITLES   the titles of a table, or the rule below them; before each title stands CLP_MARK_TITLE and a
 *                     letter: n line number, o line number on one side of a comparison, l place, f function,
 *                     w function with a place, c count, t time, p percent, b bytes, d change, s source, x other text.
 *                     The letter of the column by which rows are sorted is a capital
 *   CLP_MARK_ROW      a row: two digits, the heat of the row's time (e for an estimated time) and of its memory,
 *                     both relative to the whole program, then the cells with CLP_MARK_CELL between them
 *   CLP_MARK_FOLDED   the "..." row in the place of folded rows
 *   CLP_MARK_HIDDEN   the source text of a folded row: not shown, but a string literal that goes on in later rows
 *                     may begin in it
 *   CLP_MARK_LINE     a line that is cropped in its middle. Lines without a mark are wrapped between words */
#ifndef CLP_TABLE_H
#define CLP_TABLE_H

#include "base/buf.h"
#include "columns.h"
#include "whole.h"
#include "profile/source.h"

#define CLP_MARK_HEADING "\x01"
#define CLP_MARK_TITLES "\x02"
#define CLP_MARK_ROW "\x03"
#define CLP_MARK_HIDDEN "\x04"
#define CLP_MARK_FOLDED "\x05"
#define CLP_MARK_LINE "\x06"
#define CLP_MARK_TITLE "\x1e"
#define CLP_MARK_CELL "\x1f"

struct clp_table_row {
    struct clp_number cells[CLP_COLUMNS_MOST];
    double time, memory; /* percent of the function's time, and of the memory that its lines add and give back */
    double heat, heat_memory; /* percent of the whole program's */
    bool data;           /* was the line ever executed? */
    bool estimate;       /* is the line's time below the resolution of the measurement? */
};

struct clp_table {
    struct clp_buf *out;                 /* borrowed */
    const struct clp_columns *columns;   /* borrowed */
    const struct clp_column_scale *scale; /* borrowed */
    const struct clp_widths *widths_least; /* borrowed */
    const struct clp_profile_meta *meta; /* borrowed: has the names of the program's own counters; NULL: none are shown */
    bool marked;
    const struct clp_column *sorted_by; /* the column by which rows are sorted; NULL: none */
    struct clp_whole whole; /* of the profile; needed for marks and for the column of program shares */
    struct clp_table_row *rows; /* owned; clp_table_clear frees them */
    size_t count, room;
    size_t widths[CLP_COLUMNS_MOST];
};

/* The totals that the shares of a row are computed from: nanoseconds and bytes. 0: the share is 0. */
struct clp_table_total {
    double time, memory;
};

/* Starts a table with room for `count` rows. Set the row of every line before the first row is shown: the columns get
 * their widths in this way. A table that does not keep its rows uses row 0 for every line and sets it again when the
 * line is shown. CLP_NO_MEMORY leaves the table that was there before. */
clp_status clp_table_start(struct clp_table *table, size_t count);
void clp_table_set_row(struct clp_table *table, size_t at, const struct clp_measures *measures,
                       const struct clp_table_total *total);
void clp_table_clear(struct clp_table *table);

/* Write the line of titles, in this order: its start, each title before the columns, then the titles of the columns
 * with a rule below them. The rule also goes below the `before` characters of the titles before the columns. */
void clp_table_start_titles(const struct clp_table *table);
void clp_table_add_title(const struct clp_table *table, char letter, size_t width,
                         const char *title);
void clp_table_add_titles(const struct clp_table *table, size_t before);
/* Writes the last title, the end of the line, and a rule `width` characters long. */
void clp_table_end_titles(const struct clp_table *table, char letter, const char *title, size_t width);

/* Write a row (NULL: a row without data): its start, then the cells of the columns. The caller writes what stands
 * before the columns between the two calls. */
void clp_table_start_row(const struct clp_table *table, const struct clp_table_row *row);
void clp_table_add_cells(const struct clp_table *table, const struct clp_table_row *row);
/* Writes one cell, aligned to the right. */
void clp_table_add_cell(const struct clp_table *table, size_t width, const char *text);
/* The cells of a line that holds code and never ran: 0 hits. */
void clp_table_add_missed(const struct clp_table *table);
/* Writes the row of garbage collections, `number` characters behind its start; its cells must be set. */
void clp_table_add_gc_row(const struct clp_table *table, size_t number, const struct clp_table_row *row);
/* Writes the last cell, the line's source text behind `lead`, and ends the row. */
void clp_table_add_source(const struct clp_table *table, const char *lead, struct clp_span text);

#endif
