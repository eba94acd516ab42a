/* SPDX-License-Identifier: MIT */
#include "ranking.h"
#include "base/escape.h"
#include "profile/source.h"
#include "formats/lprof/wire_rows.h"
#include <stdlib.h>
#include <string.h>

struct entry {
    struct clp_choice_line at;
    struct clp_profile_line line;
    size_t rank;
    struct clp_span text;
    uint64_t total; /* nanoseconds of the line's function */
};

struct listing {
    const struct clp_ranking *ranking;
    struct clp_table *table;
    struct entry *entries;
    size_t count;
    size_t place_width, name_width;
    struct clp_buf scratch;
};

static const struct clp_profile_function *function_of(const struct listing *listing,
                                                      const struct entry *entry)
{
    return &listing->ranking->profile->functions[entry->at.function];
}

/* ---- texts and totals ---- */

static int compare_places(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;

    if (a->at.function != b->at.function)
        return a->at.function < b->at.function ? -1 : 1;
    return a->at.line < b->at.line ? -1 : a->at.line > b->at.line;
}

static int compare_ranks(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;

    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Looks up the line, the text and the total of every entry. Sorts the entries by place first and by rank again at the
 * end, so that each function is walked once. */
static void look_up(struct listing *listing)
{
    const struct clp_profile *profile = listing->ranking->profile;
    struct clp_source_walk walk = {0};
    struct clp_wire_rows rows;
    uint64_t total = 0;

    if (listing->count > 1)
        qsort(listing->entries, listing->count, sizeof *listing->entries, compare_places);
    for (size_t i = 0; i < listing->count; i++) {
        struct entry *entry = &listing->entries[i];
        const struct clp_profile_function *function = function_of(listing, entry);
        if (i == 0 || entry[-1].at.function != entry->at.function) {
            walk = (struct clp_source_walk){.text = {function->source, function->source_bytes}};
            total = clp_whole_total(profile, function, listing->ranking->options->raw_times);
            clp_wire_rows_start(&rows, profile, function);
        }
        while (rows.next <= entry->at.line)
            clp_wire_rows_next(&rows);
        entry->line = *rows.at;
        entry->text = clp_source_line_at(&walk, function->first_line, entry->line.line);
        entry->total = total;
    }
    if (listing->count > 1)
        qsort(listing->entries, listing->count, sizeof *listing->entries, compare_ranks);
}

/* ---- cells ---- */

static clp_status set_rows(struct listing *listing)
{
    struct clp_table *table = listing->table;

    if (clp_table_start(table, listing->count) != CLP_OK)
        return CLP_NO_MEMORY;
    for (size_t i = 0; i < listing->count; i++) {
        const struct entry *entry = &listing->entries[i];
        struct clp_table_total total = {(double)entry->total, table->whole.moved};
        clp_table_set_row(table, i, &entry->line.measures, &total);
    }
    return CLP_OK;
}

/* Builds the text "file:line" in listing->scratch, which the next place_text or name_text overwrites. */
static const struct clp_buf *place_text(struct listing *listing, const struct entry *entry)
{
    clp_buf_cut(&listing->scratch, 0);
    clp_escape_add_file(&listing->scratch, function_of(listing, entry)->file,
                        listing->ranking->folder);
    clp_buf_add_format(&listing->scratch, ":%d", (int)entry->line.line);
    return &listing->scratch;
}

static const struct clp_buf *name_text(struct listing *listing, const struct entry *entry)
{
    const char *name = function_of(listing, entry)->name;

    clp_buf_cut(&listing->scratch, 0);
    clp_escape_add_text(&listing->scratch, name);
    return &listing->scratch;
}

static size_t wider(size_t width, const struct clp_buf *text)
{
    size_t other = clp_escape_width(clp_buf_text(text), text->used);

    return other > width ? other : width;
}

static void set_widths(struct listing *listing)
{
    listing->place_width = strlen("Line");
    listing->name_width = strlen("Function");
    for (size_t i = 0; i < listing->count; i++) {
        const struct entry *entry = &listing->entries[i];
        listing->place_width = wider(listing->place_width, place_text(listing, entry));
        listing->name_width = wider(listing->name_width, name_text(listing, entry));
    }
}

static void add_left(struct clp_buf *out, const struct clp_buf *text, size_t width)
{
    clp_buf_add(out, clp_buf_text(text), text->used);
    clp_buf_add_repeated(out, ' ', width - clp_escape_width(clp_buf_text(text), text->used));
}

/* ---- the table ---- */

static void add_heading(const struct listing *listing, size_t all)
{
    enum clp_measure measure = clp_choice_measure(listing->ranking->options->order);

    clp_buf_add_format(listing->table->out, "%sHottest lines by %s: %zu of %zu\n\n",
                       listing->table->marked ? CLP_MARK_HEADING : "",
                       clp_measure_rows[measure].name, listing->count, all);
}

static void add_titles(const struct listing *listing)
{
    struct clp_table *table = listing->table;

    clp_table_start_titles(table);
    clp_table_add_title(table, 'l', 0, "Line");
    clp_buf_add_repeated(table->out, ' ', listing->place_width - strlen("Line"));
    clp_table_add_title(table, 'f', 0, "  Function");
    clp_buf_add_repeated(table->out, ' ', listing->name_width - strlen("Function"));
    clp_table_add_titles(table, listing->place_width + 2 + listing->name_width);
}

static void add_row(struct listing *listing, size_t at)
{
    const struct clp_table *table = listing->table;
    const struct entry *entry = &listing->entries[at];
    struct clp_buf *out = table->out;

    clp_table_start_row(table, &table->rows[at]);
    add_left(out, place_text(listing, entry), listing->place_width);
    clp_buf_add_text(out, table->marked ? CLP_MARK_CELL "  " : "  ");
    add_left(out, name_text(listing, entry), listing->name_width);
    clp_table_add_cells(table, &table->rows[at]);
    clp_table_add_source(table, entry->line.running ? " >" : "  ", entry->text);
}

/* Finds the column by which lines are sorted, if nobody has said which it is. */
static void find_sorted(struct listing *listing)
{
    enum clp_measure measure = clp_choice_measure(listing->ranking->options->order);
    struct clp_table *table = listing->table;

    for (size_t i = 0; table->sorted_by == NULL && i < table->columns->count; i++)
        if (table->columns->items[i]->measure == measure && table->columns->items[i]->form == CLP_COLUMN_AMOUNT)
            table->sorted_by = table->columns->items[i];
}

static clp_status add_all(struct listing *listing, size_t all)
{
    look_up(listing);
    find_sorted(listing);
    if (set_rows(listing) != CLP_OK)
        return CLP_NO_MEMORY;
    set_widths(listing);
    if (!listing->ranking->bare)
        add_heading(listing, all);
    if (listing->count != 0) {
        add_titles(listing);
        for (size_t i = 0; i < listing->count; i++)
            add_row(listing, i);
        clp_buf_add_text(listing->table->out, listing->ranking->bare ? "" : "\n");
    }
    return listing->scratch.failed ? CLP_NO_MEMORY : CLP_OK;
}

clp_status clp_ranking_add(const struct clp_ranking *ranking, struct clp_table *table)
{
    struct listing listing = {.ranking = ranking, .table = table};
    struct clp_mem *mem = table->out->mem;
    struct clp_choice_line *lines;
    size_t all;

    clp_status status = clp_choice_lines(ranking->choice, ranking->profile, ranking->options,
                                         ranking->most, &lines, &listing.count, &all);
    if (status != CLP_OK)
        return status;
    clp_buf_init(&listing.scratch, mem);
    listing.entries = clp_mem_alloc(mem, listing.count, sizeof *listing.entries);
    for (size_t i = 0; listing.entries != NULL && i < listing.count; i++)
        listing.entries[i] = (struct entry){.at = lines[i], .rank = i};
    status = listing.entries == NULL && listing.count != 0 ? CLP_NO_MEMORY
                                                           : add_all(&listing, all);
    clp_mem_free(mem, listing.entries, listing.count, sizeof *listing.entries);
    clp_mem_free(mem, lines, listing.count, sizeof *lines);
    clp_buf_clear(&listing.scratch);
    return status;
}
