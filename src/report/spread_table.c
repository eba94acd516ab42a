/* SPDX-License-Identifier: MIT */
#include "spread_table.h"
#include "base/escape.h"
#include "process_table.h"
#include "profile/source.h"
#include "table.h"
#include <stdio.h>
#include <string.h>

/* ---- the lines ---- */

/* Puts the line into its place among the ones found so far, the largest difference first. */
static void insert(struct clp_spread_line found[CLP_SPREAD_LINES], size_t *count, struct clp_spread_line line)
{
    size_t at = *count;

    while (at > 0 && found[at - 1].difference < line.difference)
        at--;
    if (at == CLP_SPREAD_LINES)
        return;
    if (*count < CLP_SPREAD_LINES)
        ++*count;
    memmove(&found[at + 1], &found[at], (*count - at - 1) * sizeof *found);
    found[at] = line;
}

size_t clp_spread_find(const struct clp_profile *profile, struct clp_spread_line found[CLP_SPREAD_LINES], size_t *all)
{
    size_t count = 0;

    *all = 0;
    for (size_t i = 0; i < profile->function_count; i++)
        for (size_t j = 0; j < profile->functions[i].line_count; j++) {
            const struct clp_profile_spread *spread = &profile->functions[i].lines[j].spread;
            uint64_t least = spread->count < profile->process_count ? 0 : spread->least;
            if (spread->count == 0 || spread->most <= least || spread->most_in >= profile->process_count ||
                spread->least_in >= profile->process_count)
                continue;
            ++*all;
            insert(found, &count, (struct clp_spread_line){&profile->functions[i], j, least, spread->most - least});
        }
    return count;
}

/* ---- the table ---- */

enum { LEAST_IN, MOST_IN, PLACE, NAME, TEXTS };

/* A row: its times, and its texts. */
struct row {
    struct clp_spread_line at;
    struct clp_number spread, least, most;
    struct clp_buf texts[TEXTS];
};

static const struct clp_profile_line *line_of(const struct row *row)
{
    return &row->at.function->lines[row->at.line];
}

/* Says in which process the line took least. */
static void add_least_in(const struct clp_profile *profile, const struct clp_profile_spread *spread, struct clp_buf *out)
{
    size_t others = profile->process_count - spread->count;

    if (spread->count < profile->process_count)
        clp_buf_add_format(out, "%zu that did not run it", others);
    else
        clp_process_add_label(profile, &profile->processes[spread->least_in], out);
}

static void make_row(struct row *row, const struct clp_profile *profile, const char *folder, struct clp_buf *out)
{
    const struct clp_profile_spread *spread = &line_of(row)->spread;

    clp_number_set_time(&row->spread, (double)row->at.difference);
    clp_number_set_time(&row->least, (double)row->at.least);
    clp_number_set_time(&row->most, (double)spread->most);
    for (size_t i = 0; i < TEXTS; i++)
        clp_buf_init(&row->texts[i], out->mem);
    add_least_in(profile, spread, &row->texts[LEAST_IN]);
    clp_process_add_label(profile, &profile->processes[spread->most_in], &row->texts[MOST_IN]);
    clp_escape_add_file(&row->texts[PLACE], row->at.function->file, folder);
    clp_buf_add_format(&row->texts[PLACE], ":%d", (int)line_of(row)->line);
    clp_escape_add_text(&row->texts[NAME], row->at.function->name);
}

/* Writes a cell, aligned to the left, two characters behind the one before. */
static void add_left(const struct clp_table *table, const struct clp_buf *text, size_t width)
{
    size_t used = clp_escape_width(clp_buf_text(text), text->used);

    clp_buf_add_text(table->out, "  ");
    clp_buf_add(table->out, clp_buf_text(text), text->used);
    clp_buf_add_repeated(table->out, ' ', width > used ? width - used : 0);
    clp_table_add_cell(table, 0, "");
}

static void add_left_title(const struct clp_table *table, char letter, const char *title, size_t width)
{
    clp_buf_add_text(table->out, table->marked ? "" : "  ");
    clp_table_add_title(table, letter, 0, table->marked ? "  " : "");
    clp_buf_add_text(table->out, title);
    clp_buf_add_repeated(table->out, ' ', width - strlen(title));
}

static void add_row(const struct clp_table *table, const struct row *row, const size_t *widths)
{
    const struct clp_profile_function *function = row->at.function;
    struct clp_source_walk walk = {.text = {function->source, function->source_bytes}};

    clp_table_start_row(table, NULL);
    clp_table_add_cell(table, CLP_NUMBER_TIME_WIDTH + 1, row->spread.text);
    clp_table_add_cell(table, CLP_NUMBER_TIME_WIDTH + 1, row->least.text);
    add_left(table, &row->texts[LEAST_IN], widths[LEAST_IN]);
    clp_table_add_cell(table, CLP_NUMBER_TIME_WIDTH + 1, row->most.text);
    add_left(table, &row->texts[MOST_IN], widths[MOST_IN]);
    add_left(table, &row->texts[PLACE], widths[PLACE]);
    add_left(table, &row->texts[NAME], widths[NAME]);
    clp_table_add_source(table, "  ", clp_source_line_at(&walk, function->first_line, line_of(row)->line));
}

static void add_titles(const struct clp_table *table, const size_t *widths)
{
    static const char last[] = "  Line Contents";
    size_t width = 3 * (CLP_NUMBER_TIME_WIDTH + 1) + strlen(last);

    clp_table_start_titles(table);
    clp_table_add_title(table, 'T', CLP_NUMBER_TIME_WIDTH + 1, "Spread");
    clp_table_add_title(table, 't', CLP_NUMBER_TIME_WIDTH + 1, "Least");
    add_left_title(table, 'x', "In", widths[LEAST_IN]);
    clp_table_add_title(table, 't', CLP_NUMBER_TIME_WIDTH + 1, "Most");
    add_left_title(table, 'x', "In", widths[MOST_IN]);
    add_left_title(table, 'l', "Line", widths[PLACE]);
    add_left_title(table, 'f', "Function", widths[NAME]);
    for (size_t i = 0; i < TEXTS; i++)
        width += widths[i] + 2;
    clp_table_end_titles(table, 's', last, width);
}

void clp_spread_table_add(const struct clp_profile *profile, const char *folder, bool marked, struct clp_buf *out)
{
    const struct clp_table table = {.out = out, .marked = marked};
    size_t widths[TEXTS] = {strlen("In"), strlen("In"), strlen("Line"), strlen("Function")}, all;
    struct clp_spread_line found[CLP_SPREAD_LINES];
    struct row rows[CLP_SPREAD_LINES];
    size_t count = clp_spread_find(profile, found, &all);

    if (profile->process_count < 2)
        return;
    clp_buf_add_format(out, "\n%sLines whose self time differs most between %zu processes: %zu of %zu\n",
                       marked ? CLP_MARK_HEADING : "", profile->process_count, count, all);
    for (size_t i = 0; i < count; i++) {
        rows[i].at = found[i];
        make_row(&rows[i], profile, folder, out);
        for (size_t j = 0; j < TEXTS; j++) {
            size_t width = clp_escape_width(clp_buf_text(&rows[i].texts[j]), rows[i].texts[j].used);
            widths[j] = width > widths[j] ? width : widths[j];
        }
    }
    if (count != 0) {
        clp_buf_add_text(out, "\n");
        add_titles(&table, widths);
    }
    for (size_t i = 0; i < count; i++) {
        add_row(&table, &rows[i], widths);
        for (size_t j = 0; j < TEXTS; j++)
            clp_buf_clear(&rows[i].texts[j]);
    }
}
