/* SPDX-License-Identifier: MIT */
#include "file_table.h"
#include "file_listing.h"
#include "base/escape.h"
#include "base/number.h"
#include <stdio.h>
#include <string.h>

#define MOST_KEPT_ROWS 10000 /* rows of longer tables are computed a second time when they are shown */

static const char line_title[] = "Line #";

struct file {
    const struct clp_file_tables *tables;
    const struct clp_file_listing *listing;
    struct clp_table *table;
    struct clp_table_total total; /* of which rows are shares: the whole program's */
    size_t with_data, shown;      /* rows with data: all, and those that were shown */
    struct clp_measures gc;       /* the row of garbage collections */
    bool shares;                  /* has any row the sum of several functions? */
};

static bool keeps_rows(const struct file *file)
{
    return file->with_data <= MOST_KEPT_ROWS;
}

/* Fills the cells of a row; `at` is its place among the rows with data. */
static const struct clp_table_row *set_cells(const struct file *file, const struct clp_measures *measures, size_t at)
{
    at = keeps_rows(file) ? at : 0;
    clp_table_set_row(file->table, at, measures, &file->total);
    return &file->table->rows[at];
}

static const struct clp_table_row *set_row(const struct file *file, const struct clp_file_row *row, size_t at)
{
    return set_cells(file, &row->measures, at);
}

/* Fills all rows before the first is shown: a column is as wide as its widest number. */
static clp_status set_rows(struct file *file)
{
    const struct clp_file_listing *listing = file->listing;
    size_t at = 0;

    for (size_t i = 0; i < listing->count; i++) {
        file->with_data += listing->rows[i].functions != 0;
        clp_whole_add_gc(&file->gc, &listing->rows[i].measures);
    }
    if (clp_table_start(file->table, keeps_rows(file) ? file->with_data + 1 : 1) != CLP_OK)
        return CLP_NO_MEMORY;
    for (size_t i = 0; i < listing->count; i++)
        if (listing->rows[i].functions != 0)
            (void)set_row(file, &listing->rows[i], at++);
    (void)set_cells(file, &file->gc, at);
    return CLP_OK;
}

/* ---- the heading ---- */

static double self_of(const struct file *file)
{
    const struct clp_file_listing *listing = file->listing;
    double self = 0;

    for (size_t i = 0; i < listing->count; i++)
        self += clp_whole_self(&listing->rows[i].measures, file->table->scale->raw_times);
    return file->tables->profile->gc_apart ? self + (double)file->gc.gc : self;
}

static void start_heading(const struct file *file, const char *text)
{
    clp_buf_add_text(file->table->out, file->table->marked ? CLP_MARK_HEADING : "");
    clp_buf_add_text(file->table->out, text);
}

static void add_heading(const struct file *file)
{
    const struct clp_file_listing *listing = file->listing;
    struct clp_buf *out = file->table->out;

    start_heading(file, "Self time: ");
    if (file->table->scale->scalar == 0)
        clp_number_add_time(out, self_of(file));
    else
        clp_buf_add_format(out, "%g s", self_of(file) * 1e-9);
    clp_buf_add_format(out, " in %zu function%s\n", listing->functions, clp_buf_plural(listing->functions));
    start_heading(file, "File: ");
    clp_escape_add_file(out, listing->file, file->tables->folder);
    if (listing->version > 1)
        clp_buf_add_format(out, " (%u)", listing->version);
    clp_buf_add_text(out, "\n\n");
}

/* ---- rows ---- */

static bool stays(const struct file *file, const struct clp_file_row *row, const struct clp_table_row *cells)
{
    double least = file->tables->min_percent;

    return row->running || (cells != NULL && cells->data && (cells->time >= least || cells->memory >= least));
}

static void add_row(struct file *file, const struct clp_file_row *row)
{
    struct clp_table *table = file->table;
    struct clp_fold *fold = file->tables->fold;
    const struct clp_table_row *cells = NULL;
    const struct clp_span text = row->text.text != NULL ? row->text : (struct clp_span){"", 0};
    char number[CLP_NUMBER_BYTES];

    if (row->functions != 0)
        cells = keeps_rows(file) ? &table->rows[file->shown++] : set_row(file, row, 0);
    if (file->tables->min_percent == 0 || stays(file, row, cells))
        clp_fold_end(fold);
    else
        clp_fold_note(fold, cells != NULL && cells->data, text);
    snprintf(number, sizeof number, "%d", (int)row->line);
    clp_table_start_row(table, cells);
    clp_number_add(table->out, fold->width, number);
    if (row->missed)
        clp_table_add_missed(table);
    else
        clp_table_add_cells(table, cells);
    clp_table_add_source(table, row->running ? " >" : row->functions > 1 ? " +" : "  ", text);
    file->shares |= row->functions > 1;
}

static void add_rows(struct file *file)
{
    const struct clp_file_listing *listing = file->listing;
    bool folds = file->tables->min_percent != 0;

    for (size_t i = 0; i < listing->count; i++) {
        if (i != 0 && listing->rows[i].line > listing->rows[i - 1].line + 1) {
            clp_fold_end(file->tables->fold);
            clp_fold_add_row(file->tables->fold); /* of the lines between nothing is known */
        }
        add_row(file, &listing->rows[i]);
        if (!folds) /* folding cuts rows out of the buffer, so they must still be there */
            clp_drain_long(file->tables->drain, file->table->out);
    }
    clp_fold_end(file->tables->fold);
}

static clp_status add_file(const struct clp_file_tables *tables, const struct clp_file_listing *listing,
                           struct clp_table *table)
{
    struct file file = {.tables = tables, .listing = listing, .table = table};

    file.total = (struct clp_table_total){table->whole.time, table->whole.moved};
    if (set_rows(&file) != CLP_OK)
        return CLP_NO_MEMORY;
    add_heading(&file);
    clp_table_start_titles(table);
    clp_table_add_title(table, 'n', tables->fold->width, line_title);
    clp_table_add_titles(table, tables->fold->width);
    add_rows(&file);
    if (tables->profile->gc_apart && file.gc.gc_runs != 0)
        clp_table_add_gc_row(table, tables->fold->width, set_cells(&file, &file.gc, file.with_data));
    clp_buf_add_text(table->out, file.shares ? "\n+ the sum of several functions that share the line\n\n" : "\n");
    return CLP_OK;
}

clp_status clp_file_tables_add(const struct clp_file_tables *tables, struct clp_table *table)
{
    struct clp_file_listings listings;
    bool more = true;
    clp_status status =
        clp_file_listings_start(&listings, tables->profile, tables->choice, tables->options->order, table->out->mem);

    if (status != CLP_OK)
        return status;
    while (status == CLP_OK && more) {
        status = clp_file_listings_next(&listings, &more);
        if (status == CLP_OK && more)
            status = add_file(tables, &listings.listing, table);
        clp_drain_long(tables->drain, table->out);
    }
    clp_file_listings_clear(&listings);
    return status;
}
