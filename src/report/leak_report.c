/* SPDX-License-Identifier: MIT */
#include "leak_report.h"
#include "base/escape.h"
#include "heap/leaks.h"
#include "profile/source.h"
#include "table.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NAMED 10

struct found {
    const struct clp_profile_function *function;
    const struct clp_profile_leak *leak;
};

bool clp_leak_report_judged(const struct clp_profile *profile)
{
    const struct clp_profile_meta *meta = &profile->meta;

    return meta->leak_epoch != NULL && meta->leak_epochs >= clp_leaks_needed(meta->leak_epochs);
}

const char *clp_leak_report_unjudged(const struct clp_profile *profile)
{
    return clp_leak_report_judged(profile) ? profile->meta.leak_unjudged : NULL;
}

static int compare(const void *a, const void *b)
{
    const struct found *left = a, *right = b;

    if (left->leak->bytes != right->leak->bytes)
        return left->leak->bytes < right->leak->bytes ? 1 : -1;
    return (left->leak->line > right->leak->line) - (left->leak->line < right->leak->line);
}

/* Returns the profile's `count` leaks, the largest first, or NULL without memory. The caller frees the array. */
static struct found *collect(const struct clp_profile *profile, size_t count, struct clp_mem *mem)
{
    struct found *all = clp_mem_alloc(mem, count, sizeof *all);
    size_t at = 0;

    for (size_t i = 0; all != NULL && i < profile->function_count; i++)
        for (size_t j = 0; j < profile->functions[i].leak_count; j++)
            all[at++] = (struct found){&profile->functions[i], &profile->functions[i].leaks[j]};
    if (all != NULL)
        qsort(all, count, sizeof *all, compare);
    return all;
}

static void add_bytes(struct clp_buf *out, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;

    while (bytes >= 1023.95 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1024;
        unit++;
    }
    clp_buf_add_format(out, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

static void add_place(struct clp_buf *out, const struct found *found, const char *folder)
{
    clp_escape_add_file(out, found->function->file, folder);
    clp_buf_add_format(out, ":%d", (int)found->leak->line);
}

static bool is_epoch(const struct clp_profile_meta *meta, const char *word)
{
    return meta->leak_epoch != NULL && strcmp(meta->leak_epoch, word) == 0;
}

bool clp_leak_report_by_time(const struct clp_profile_meta *meta)
{
    const char *epoch = meta->leak_epoch; /* a function's name begins with neither a digit nor a dot */

    return epoch != NULL && (epoch[0] == '.' || (epoch[0] >= '0' && epoch[0] <= '9'));
}

/* Returns the word for one epoch, for "1.5 KiB per call" and "8 calls". */
static const char *epoch_of(const struct clp_profile_meta *meta)
{
    if (is_epoch(meta, "checkpoints"))
        return "checkpoint";
    return clp_leak_report_by_time(meta) || is_epoch(meta, "mixed") ? "epoch" : "call";
}

void clp_leak_report_add_epochs(const struct clp_profile_meta *meta, struct clp_buf *out)
{
    unsigned long long count = meta->leak_epochs;

    if (is_epoch(meta, "calls"))
        clp_buf_add_text(out, "at most ");
    clp_buf_add_format(out, "%llu %s%s", count, epoch_of(meta), clp_buf_plural(count));
    if (is_epoch(meta, "calls"))
        clp_buf_add_format(out, " of a function or execution%s of a line", clp_buf_plural(count));
    else if (clp_leak_report_by_time(meta))
        clp_buf_add_format(out, " of %s s", meta->leak_epoch);
    else if (strcmp(epoch_of(meta), "call") == 0) { /* the epoch is a call of one named function */
        clp_buf_add_text(out, " of ");
        clp_escape_add_text(out, meta->leak_epoch);
    }
    clp_buf_add_format(out, ", %zu needed", clp_leaks_needed(0));
}

static struct clp_span text_of(const struct found *found)
{
    struct clp_source_walk walk = {.text = {found->function->source, found->function->source_bytes}};

    return clp_source_line_at(&walk, found->function->first_line, found->leak->line);
}

/* Appends what was kept. A margin is told if it is more than a fiftieth of that. */
static void add_kept(struct clp_buf *out, const struct clp_profile_leak *leak)
{
    add_bytes(out, (double)leak->bytes);
    if (leak->margin <= leak->bytes / 50)
        return;
    clp_buf_add_text(out, " +- ");
    add_bytes(out, (double)leak->margin);
}

static const char freed_at_end[] = "freed only at the end of the program";

static void add_leak(struct clp_buf *out, const struct found *found, const struct clp_profile_meta *meta,
                     const char *folder)
{
    const struct clp_profile_leak *leak = found->leak;
    struct clp_span text = text_of(found);

    add_place(out, found, folder);
    clp_buf_add_text(out, "  kept ");
    add_kept(out, leak);
    clp_buf_add_text(out, ", ");
    add_bytes(out, leak->bytes_per_call);
    clp_buf_add_format(out, " per %s, ", leak->per_execution ? "execution" : epoch_of(meta));
    add_bytes(out, leak->bytes_per_second);
    clp_buf_add_format(out, "/s, sure %.0f %%  ", leak->confidence * 100);
    clp_escape_add(out, text.text, text.bytes);
    clp_buf_add_text(out, "\n");
    if (leak->at_end)
        clp_buf_add_format(out, "  %s\n", freed_at_end);
    if (leak->held_by == NULL)
        return;
    clp_buf_add_text(out, "  held by ");
    clp_escape_add_text(out, leak->held_by);
    clp_buf_add_text(out, "\n");
}

/* ---- a table, for a terminal ---- */

static void add_titles(const struct clp_table *table, const struct clp_profile_meta *meta)
{
    clp_table_start_titles(table);
    clp_table_add_title(table, 'l', 0, "Line");
    clp_table_add_title(table, 'b', 0, " Kept");
    clp_table_add_title(table, 'b', 0, " Per ");
    clp_buf_add_text(table->out, epoch_of(meta));
    clp_table_add_title(table, 'b', 0, " Per second");
    clp_table_add_title(table, 'p', 0, " Sure");
    clp_table_end_titles(table, 's', "  Line Contents", 0);
}

static void add_bytes_cell(const struct clp_table *table, double bytes)
{
    struct clp_buf text;

    clp_buf_init(&text, table->out->mem);
    clp_buf_add_text(&text, " ");
    add_bytes(&text, bytes);
    clp_table_add_cell(table, 0, clp_buf_text(&text));
    clp_buf_clear(&text);
}

static void add_row(const struct clp_table *table, const struct found *found, const char *folder)
{
    const struct clp_table_row hot = {.heat_memory = found->leak->confidence * 100};
    const struct clp_profile_leak *leak = found->leak;
    char sure[16];

    clp_table_start_row(table, &hot);
    add_place(table->out, found, folder);
    clp_table_add_cell(table, 0, "");
    add_bytes_cell(table, (double)leak->bytes);
    add_bytes_cell(table, leak->bytes_per_call);
    add_bytes_cell(table, leak->bytes_per_second);
    (void)snprintf(sure, sizeof sure, " %.0f %%", leak->confidence * 100);
    clp_table_add_cell(table, 0, sure);
    clp_table_add_source(table, "  ", text_of(found));
    if (leak->at_end)
        clp_buf_add_format(table->out, CLP_MARK_FOLDED "  %s\n", freed_at_end);
    if (leak->held_by == NULL)
        return;
    clp_buf_add_text(table->out, CLP_MARK_FOLDED "  held by ");
    clp_escape_add_text(table->out, leak->held_by);
    clp_buf_add_text(table->out, "\n");
}

static void add_table(const struct clp_profile *profile, const struct found *all, const char *folder,
                      struct clp_buf *out)
{
    const struct clp_table table = {.out = out, .marked = true};
    size_t count = clp_profile_count_leaks(profile);

    clp_buf_add_text(out, "\n");
    add_titles(&table, &profile->meta);
    for (size_t i = 0; i < count; i++)
        add_row(&table, &all[i], folder);
}

/* ---- the whole ---- */

void clp_leak_report_text(const struct clp_profile *profile, const char *folder, bool marked,
                          struct clp_buf *out)
{
    size_t count = clp_profile_count_leaks(profile);
    struct found *all = count != 0 ? collect(profile, count, out->mem) : NULL;

    if (count != 0) {
        clp_buf_add_format(out, "\n%sLeaks: %zu line%s\n", marked ? CLP_MARK_HEADING : "", count,
                           clp_buf_plural(count));
    } else if (clp_leak_report_judged(profile)) {
        clp_buf_add_text(out, "\nNo line was found to leak.\n");
    } else if (profile->meta.leak_epoch != NULL) {
        clp_buf_add_text(out, "\nNo verdict on leaks: ");
        clp_leak_report_add_epochs(&profile->meta, out);
        clp_buf_add_text(out, ".\n");
    }
    if (all != NULL && marked)
        add_table(profile, all, folder, out);
    for (size_t i = 0; all != NULL && !marked && i < count; i++)
        add_leak(out, &all[i], &profile->meta, folder);
    clp_mem_free(out->mem, all, count, sizeof *all);
    if (clp_leak_report_unjudged(profile) == NULL)
        return;
    clp_buf_add_format(out, "%sNot judged, because %zu calls are needed: ", marked && count != 0 ? "\n" : "",
                       clp_leaks_needed(0));
    clp_escape_add_text(out, clp_leak_report_unjudged(profile));
    clp_buf_add_text(out, "\n");
}

void clp_leak_report_names(const struct clp_profile *profile, const char *folder,
                           struct clp_buf *out)
{
    size_t count = clp_profile_count_leaks(profile);
    struct found *all = count != 0 ? collect(profile, count, out->mem) : NULL;

    if (count == 0)
        return;
    if (count == 1)
        clp_buf_add_text(out, "a line leaks: ");
    else
        clp_buf_add_format(out, "%zu lines leak: ", count);
    for (size_t i = 0; all != NULL && i < count && i < MOST_NAMED; i++) {
        clp_buf_add_text(out, i == 0 ? "" : ", ");
        add_place(out, &all[i], folder);
        clp_buf_add_text(out, " (kept ");
        add_bytes(out, (double)all[i].leak->bytes);
        clp_buf_add_text(out, ")");
    }
    if (count > MOST_NAMED)
        clp_buf_add_text(out, ", ..");
    clp_mem_free(out->mem, all, count, sizeof *all);
}
