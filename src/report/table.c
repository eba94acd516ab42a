/* SPDX-License-Identifier: MIT */
#include "table.h"
#include "base/escape.h"
#include "profile/named.h"
#include <string.h>

static const char source_title[] = "  Line Contents";

/* The title of the column: the name of a counter or device, which needs `made`, or what the table of measures
 * has. */
static const char *title_of(const struct clp_table *table, const struct clp_column *column, struct clp_buf *made)
{
    const char *what = "";
    const char *name = table->meta != NULL ? clp_named_of(table->meta, column->measure, &what) : NULL;

    if (name == NULL)
        return column->title;
    clp_buf_cut(made, 0);
    clp_escape_add_text(made, name);
    clp_buf_add_format(made, "%s%s", what[0] != 0 ? " " : "", what);
    table->out->failed |= made->failed;
    return clp_buf_text(made);
}

static size_t width_of(const struct clp_table *table, const struct clp_column *column)
{
    struct clp_buf made;

    clp_buf_init(&made, table->out->mem);
    const char *title = title_of(table, column, &made);
    size_t width = clp_widths_of(table->widths_least, column, table->scale);
    size_t least = clp_escape_width(title, strlen(title));
    clp_buf_clear(&made);
    return width > least ? width : least;
}

clp_status clp_table_start(struct clp_table *table, size_t count)
{
    if (count > table->room) {
        void *rows = table->rows;
        clp_status status = clp_mem_grow(table->out->mem, &rows, &table->room, count,
                                         sizeof *table->rows);
        if (status != CLP_OK)
            return status;
        table->rows = rows;
    }
    table->count = count;
    for (size_t i = 0; i < table->columns->count; i++)
        table->widths[i] = width_of(table, table->columns->items[i]);
    return CLP_OK;
}

void clp_table_clear(struct clp_table *table)
{
    clp_mem_free(table->out->mem, table->rows, table->room, sizeof *table->rows);
    table->rows = NULL;
    table->count = table->room = 0;
}

static double share(double part, double total)
{
    return total != 0 ? clp_column_share(part, total) : 0;
}

void clp_table_set_row(struct clp_table *table, size_t at, const struct clp_measures *measures,
                       const struct clp_table_total *total)
{
    struct clp_table_row *row = &table->rows[at];
    double time = (double)(table->scale->raw_times ? measures->raw_time : measures->time);
    const struct clp_column_totals totals = {total->time, table->whole.time};

    *row = (struct clp_table_row){0};
    row->data = measures->hits != 0 || time != 0;
    if (!row->data)
        return;
    row->estimate = !table->scale->raw_times && clp_measures_below_resolution(measures);
    row->time = share(time, total->time);
    row->memory = share(clp_whole_moved(measures), total->memory);
    row->heat = share(time, table->whole.time);
    row->heat_memory = share(clp_whole_moved(measures), table->whole.moved);
    for (size_t i = 0; i < table->columns->count; i++) {
        clp_column_set_cell(table->columns->items[i], table->scale, measures, &totals, &row->cells[i]);
        size_t bytes = strlen(row->cells[i].text);
        if (bytes > table->widths[i])
            table->widths[i] = bytes;
    }
}

/* ---- titles ---- */

/* Returns the letter that marks a column's title; terminal.py colours the column by it. */
static char letter_of(const struct clp_column *column)
{
    static const char letters[] = {
        [CLP_MEASURE_COUNT] = 'c', [CLP_MEASURE_NANOS] = 't', [CLP_MEASURE_BYTES] = 'b'};

    bool is_share = column->form == CLP_COLUMN_PERCENT || column->form == CLP_COLUMN_SHARE;

    return is_share ? 'p' : letters[clp_measure_rows[column->measure].kind];
}

static char capital(char letter)
{
    return (char)(letter - 'a' + 'A');
}

static void add_title_mark(const struct clp_table *table, char letter)
{
    if (!table->marked)
        return;
    clp_buf_add_text(table->out, CLP_MARK_TITLE);
    clp_buf_add(table->out, &letter, 1);
}

void clp_table_start_titles(const struct clp_table *table)
{
    if (table->marked)
        clp_buf_add_text(table->out, CLP_MARK_TITLES);
}

void clp_table_add_title(const struct clp_table *table, char letter, size_t width,
                         const char *title)
{
    add_title_mark(table, letter);
    clp_number_add(table->out, width, title);
}

void clp_table_add_titles(const struct clp_table *table, size_t before)
{
    size_t whole = before + strlen(source_title);
    struct clp_buf made;

    clp_buf_init(&made, table->out->mem);

    for (size_t i = 0; i < table->columns->count; i++) {
        const struct clp_column *column = table->columns->items[i];
        char letter = letter_of(column);
        clp_table_add_title(table, column == table->sorted_by ? capital(letter) : letter, table->widths[i] + 1,
                            title_of(table, column, &made));
        whole += table->widths[i] + 1;
    }
    clp_buf_clear(&made);
    clp_table_end_titles(table, 's', source_title, whole);
}

void clp_table_end_titles(const struct clp_table *table, char letter, const char *title, size_t width)
{
    clp_table_add_title(table, letter, 0, title);
    clp_buf_add_text(table->out, table->marked ? "\n" CLP_MARK_TITLES : "\n");
    clp_buf_add_repeated(table->out, '=', width);
    clp_buf_add_text(table->out, "\n");
}

/* ---- rows ---- */

static char heat(double percent)
{
    static const double steps[] = {0.5, 1, 2, 5, 10, 20, 35, 55, 80};
    char at = '0';

    for (size_t i = 0; i < sizeof steps / sizeof *steps && percent >= steps[i]; i++)
        at++;
    return at;
}

void clp_table_start_row(const struct clp_table *table, const struct clp_table_row *row)
{
    if (!table->marked)
        return;
    char heats[] = {row != NULL ? heat(row->heat) : '0', row != NULL ? heat(row->heat_memory) : '0'};
    if (row != NULL && row->estimate)
        heats[0] = 'e';
    clp_buf_add_text(table->out, CLP_MARK_ROW);
    clp_buf_add(table->out, heats, sizeof heats);
}

static void end_cell(const struct clp_table *table)
{
    if (table->marked)
        clp_buf_add_text(table->out, CLP_MARK_CELL);
}

void clp_table_add_cells(const struct clp_table *table, const struct clp_table_row *row)
{
    end_cell(table);
    for (size_t i = 0; i < table->columns->count; i++)
        clp_table_add_cell(table, table->widths[i] + 1, row == NULL ? "" : row->cells[i].text);
}

void clp_table_add_cell(const struct clp_table *table, size_t width, const char *text)
{
    clp_number_add(table->out, width, text);
    end_cell(table);
}

void clp_table_add_missed(const struct clp_table *table)
{
    struct clp_table_row row = {0};

    for (size_t i = 0; i < table->columns->count; i++) {
        const struct clp_column *column = table->columns->items[i];
        if (column->measure == CLP_MEASURE_hits && column->form == CLP_COLUMN_AMOUNT)
            row.cells[i].text[0] = '0';
    }
    clp_table_add_cells(table, &row);
}

void clp_table_add_source(const struct clp_table *table, const char *lead, struct clp_span text)
{
    clp_buf_add_text(table->out, lead);
    clp_escape_add(table->out, text.text, text.bytes);
    clp_buf_add(table->out, "\n", 1);
}

void clp_table_add_gc_row(const struct clp_table *table, size_t number, const struct clp_table_row *row)
{
    static const char text[] = "garbage collection";

    clp_table_start_row(table, row);
    clp_number_add(table->out, number, "");
    clp_table_add_cells(table, row);
    clp_table_add_source(table, "  ", (struct clp_span){text, sizeof text - 1});
}
