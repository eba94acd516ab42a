/* SPDX-License-Identifier: MIT */
#include "process_table.h"
#include "base/escape.h"
#include "profile/measures.h"
#include "table.h"
#include <stdio.h>
#include <string.h>

/* ---- names and groups ---- */

static bool same_text(const char *one, const char *other)
{
    return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
}

bool clp_process_same_group(const struct clp_profile_process *one, const struct clp_profile_process *other,
                            enum clp_process_by by)
{
    if (by == CLP_PROCESS_BY_rank)
        return same_text(one->rank, other->rank);
    if (by == CLP_PROCESS_BY_host)
        return same_text(one->host, other->host);
    return one->pid == other->pid && one->start == other->start && one->pid_namespace == other->pid_namespace &&
           same_text(one->boot, other->boot);
}

bool clp_process_is_first(const struct clp_profile *profile, size_t place, enum clp_process_by by)
{
    for (size_t i = 0; i < place; i++)
        if (clp_process_same_group(&profile->processes[i], &profile->processes[place], by))
            return false;
    return true;
}

/* Do all processes have the same of what `by` says? */
static bool is_one_group(const struct clp_profile *profile, enum clp_process_by by)
{
    for (size_t i = 1; i < profile->process_count; i++)
        if (!clp_process_same_group(&profile->processes[0], &profile->processes[i], by))
            return false;
    return true;
}

static void add_restart(const struct clp_profile_process *process, struct clp_buf *out)
{
    if (process->restart != 0)
        clp_buf_add_format(out, " restart %llu", (unsigned long long)process->restart);
}

/* Is there another process of its rank? */
static bool shares_rank(const struct clp_profile *profile, const struct clp_profile_process *process)
{
    for (size_t i = 0; i < profile->process_count; i++)
        if (&profile->processes[i] != process &&
            clp_process_same_group(&profile->processes[i], process, CLP_PROCESS_BY_rank))
            return true;
    return false;
}

void clp_process_add_label(const struct clp_profile *profile, const struct clp_profile_process *process,
                           struct clp_buf *out)
{
    if (process->rank != NULL) {
        clp_buf_add_text(out, "rank ");
        clp_escape_add_text(out, process->rank);
        add_restart(process, out);
        if (!shares_rank(profile, process))
            return;
        clp_buf_add_text(out, ": ");
    }
    clp_buf_add_format(out, "%llu", (unsigned long long)process->pid);
    if (process->rank != NULL || process->host == NULL || is_one_group(profile, CLP_PROCESS_BY_host))
        return;
    clp_buf_add_text(out, " on ");
    clp_escape_add_text(out, process->host);
}

static void add_if_known(struct clp_buf *out, const char *before, const char *text, const char *behind)
{
    if (text == NULL)
        return;
    clp_buf_add_text(out, before);
    clp_escape_add_text(out, text);
    clp_buf_add_text(out, behind);
}

void clp_process_add_group(const struct clp_profile_process *process, enum clp_process_by by, struct clp_buf *out)
{
    if (by == CLP_PROCESS_BY_host) {
        clp_buf_add_text(out, "Host ");
        clp_escape_add_text(out, process->host != NULL ? process->host : "not known");
        return;
    }
    if (by == CLP_PROCESS_BY_rank) {
        clp_buf_add_text(out, process->rank != NULL ? "Rank " : "No rank");
        clp_escape_add_text(out, process->rank != NULL ? process->rank : "");
        return;
    }
    clp_buf_add_format(out, "Process %llu", (unsigned long long)process->pid);
    add_if_known(out, ", rank ", process->rank, "");
    if (process->rank != NULL)
        add_restart(process, out);
    add_if_known(out, ", host ", process->host, "");
    add_if_known(out, ", ", process->name, "");
}

/* ---- the tables ---- */

enum column { PROCESS, PARENT, PROCESSES, RANK, WALL, LINES, EVENTS, COLUMNS };

static const struct {
    char letter;
    size_t width;
    const char *title, *marked_title;
} columns[COLUMNS] = {
    [PROCESS] = {'c', 8, "Process", "Process"}, [PARENT] = {'c', 9, "Parent", "Parent"},
    [PROCESSES] = {'c', 10, "Processes", "Processes"},
    [RANK] = {'c', 8, "Rank", "Rank"}, [WALL] = {'t', 13, "Wall (s)", "Wall"},
    [LINES] = {'t', 13, "Lines (s)", "Lines"}, [EVENTS] = {'c', 13, "Events", "Events"},
};

/* A table of processes, or of ranks, and which columns it has. */
struct listing {
    struct clp_table table;
    bool has[COLUMNS], has_host;
    size_t host_width;
};

static struct listing listing_of(const struct clp_profile *profile, bool of_ranks, bool marked, struct clp_buf *out)
{
    bool ranks = profile->processes[0].rank != NULL || !is_one_group(profile, CLP_PROCESS_BY_rank);
    struct listing listing = {
        .table = {.out = out, .marked = marked},
        .has = {[PROCESS] = !of_ranks, [PARENT] = !of_ranks, [PROCESSES] = of_ranks, [RANK] = of_ranks || ranks,
                [WALL] = true, [LINES] = true, [EVENTS] = true},
        .has_host = !is_one_group(profile, CLP_PROCESS_BY_host),
        .host_width = strlen("Host"),
    };

    for (size_t i = 0; i < profile->process_count; i++) {
        const char *host = profile->processes[i].host;
        size_t width = host != NULL ? clp_escape_width(host, strlen(host)) : 0;
        listing.host_width = width > listing.host_width ? width : listing.host_width;
    }
    listing.host_width += 2;
    return listing;
}

static void add_titles(const struct listing *listing)
{
    static const char last[] = "  Name";
    size_t width = strlen(last);

    clp_table_start_titles(&listing->table);
    for (size_t i = 0; i < COLUMNS; i++) {
        if (!listing->has[i])
            continue;
        clp_table_add_title(&listing->table, columns[i].letter, columns[i].width,
                            listing->table.marked ? columns[i].marked_title : columns[i].title);
        width += columns[i].width;
    }
    if (listing->has_host)
        clp_table_add_title(&listing->table, 'x', listing->host_width, "Host");
    width += listing->has_host ? listing->host_width : 0;
    clp_table_end_titles(&listing->table, 'x', last, width - 2);
}

static void add_text(const struct listing *listing, enum column column, const char *text)
{
    if (listing->has[column])
        clp_table_add_cell(&listing->table, columns[column].width, text);
}

static void add_number(const struct listing *listing, enum column column, uint64_t number)
{
    char text[24] = "-";

    if (column != PARENT || number != 0)
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    add_text(listing, column, text);
}

static void add_time(const struct listing *listing, enum column column, uint64_t nanos)
{
    struct clp_number number;

    if (listing->table.marked)
        clp_number_set_time(&number, (double)nanos);
    else
        (void)snprintf(number.text, sizeof number.text, "%.6f", (double)nanos * 1e-9);
    add_text(listing, column, number.text);
}

/* Adds a cell of a text that is harmless now, aligned to the right, and clears it. */
static void add_shown(const struct listing *listing, size_t width, struct clp_buf *shown)
{
    size_t used = clp_escape_width(clp_buf_text(shown), shown->used);

    clp_buf_add_repeated(listing->table.out, ' ', width > used ? width - used : 0);
    clp_table_add_cell(&listing->table, 0, clp_buf_text(shown));
    clp_buf_clear(shown);
}

static void add_rank(const struct listing *listing, const struct clp_profile_process *process)
{
    struct clp_buf shown;

    if (!listing->has[RANK])
        return;
    clp_buf_init(&shown, listing->table.out->mem);
    clp_escape_add_text(&shown, process->rank != NULL ? process->rank : "-");
    if (process->rank != NULL && process->restart != 0)
        clp_buf_add_format(&shown, ".%llu", (unsigned long long)process->restart);
    add_shown(listing, columns[RANK].width, &shown);
}

static void add_host(const struct listing *listing, const char *host)
{
    struct clp_buf shown;

    if (!listing->has_host)
        return;
    clp_buf_init(&shown, listing->table.out->mem);
    clp_escape_add_text(&shown, host != NULL ? host : "-");
    add_shown(listing, listing->host_width, &shown);
}

/* count: the number of processes that the row stands for */
static void add_row(const struct listing *listing, const struct clp_profile_process *process, uint64_t count)
{
    const char *name = process->name != NULL ? process->name : "";

    clp_table_start_row(&listing->table, NULL);
    add_number(listing, PROCESS, process->pid);
    add_number(listing, PARENT, process->parent);
    add_number(listing, PROCESSES, count);
    add_rank(listing, process);
    add_time(listing, WALL, process->wall);
    add_time(listing, LINES, process->self);
    add_number(listing, EVENTS, process->events);
    add_host(listing, process->host);
    clp_table_add_source(&listing->table, listing->table.marked || *name != 0 ? "  " : "",
                         (struct clp_span){name, strlen(name)});
}

void clp_process_table_add(const struct clp_profile *profile, bool marked, struct clp_buf *out)
{
    if (profile->process_count == 0)
        return;
    const struct listing listing = listing_of(profile, false, marked, out);
    clp_buf_add_text(out, "\n");
    add_titles(&listing);
    for (size_t i = 0; i < profile->process_count; i++)
        add_row(&listing, &profile->processes[i], 1);
}

/* Adds the row of a rank: its first process, with the sums of all. */
static void add_rank_row(const struct listing *listing, const struct clp_profile *profile, size_t place)
{
    struct clp_profile_process row = profile->processes[place]; /* borrowed */
    uint64_t count = 1;

    for (size_t i = place + 1; i < profile->process_count; i++) {
        const struct clp_profile_process *other = &profile->processes[i];
        if (!clp_process_same_group(other, &row, CLP_PROCESS_BY_rank))
            continue;
        row.wall = clp_measures_sum(row.wall, other->wall);
        row.self = clp_measures_sum(row.self, other->self);
        row.events = clp_measures_sum(row.events, other->events);
        count++;
    }
    row.restart = 0; /* the processes of a rank that was started again are one row */
    add_row(listing, &row, count);
}

void clp_rank_table_add(const struct clp_profile *profile, bool marked, struct clp_buf *out)
{
    if (profile->process_count == 0)
        return;
    const struct listing listing = listing_of(profile, true, marked, out);
    clp_buf_add_text(out, "\n");
    add_titles(&listing);
    for (size_t i = 0; i < profile->process_count; i++)
        if (clp_process_is_first(profile, i, CLP_PROCESS_BY_rank))
            add_rank_row(&listing, profile, i);
}
