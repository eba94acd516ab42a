/* SPDX-License-Identifier: MIT */
#include "process_table.h"
#include "base/escape.h"
#include "table.h"
#include <stdio.h>
#include <string.h>

static const struct {
    char letter;
    size_t width;
    const char *title, *marked_title;
} columns[] = {
    {'c', 8, "Process", "Process"},      {'c', 9, "Parent", "Parent"}, {'t', 13, "Wall (s)", "Wall"},
    {'t', 13, "Lines (s)", "Lines"},     {'c', 13, "Events", "Events"},
};
#define COLUMNS (sizeof columns / sizeof *columns)

static void add_titles(const struct clp_table *table)
{
    static const char last[] = "  Name";
    size_t width = strlen(last);

    clp_table_start_titles(table);
    for (size_t i = 0; i < COLUMNS; i++) {
        clp_table_add_title(table, columns[i].letter, columns[i].width,
                            table->marked ? columns[i].marked_title : columns[i].title);
        width += columns[i].width;
    }
    clp_table_end_titles(table, 'x', last, width - 2);
}

static void add_number(const struct clp_table *table, size_t column, uint64_t number)
{
    char text[24] = "-";

    if (column != 1 || number != 0)
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    clp_table_add_cell(table, columns[column].width, text);
}

static void add_time(const struct clp_table *table, size_t column, uint64_t nanos)
{
    struct clp_number number;

    if (table->marked)
        clp_number_set_time(&number, (double)nanos);
    else
        (void)snprintf(number.text, sizeof number.text, "%.6f", (double)nanos * 1e-9);
    clp_table_add_cell(table, columns[column].width, number.text);
}

static void add_row(const struct clp_table *table, const struct clp_profile_process *process)
{
    const char *name = process->name != NULL ? process->name : "";

    clp_table_start_row(table, NULL);
    add_number(table, 0, process->pid);
    add_number(table, 1, process->parent);
    add_time(table, 2, process->wall);
    add_time(table, 3, process->self);
    add_number(table, 4, process->events);
    clp_table_add_source(table, table->marked || *name != 0 ? "  " : "", (struct clp_span){name, strlen(name)});
}

void clp_process_table_add(const struct clp_profile *profile, bool marked, struct clp_buf *out)
{
    const struct clp_table table = {.out = out, .marked = marked};

    if (profile->process_count == 0)
        return;
    clp_buf_add_text(out, "\n");
    add_titles(&table);
    for (size_t i = 0; i < profile->process_count; i++)
        add_row(&table, &profile->processes[i]);
}
