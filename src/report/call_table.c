/* SPDX-License-Identifier: MIT */
#include "call_table.h"
#include "base/escape.h"
#include "base/number.h"
#include "profile/amount.h"
#include "profile/measures.h"
#include "profile/source.h"
#include "table.h"
#include <stdlib.h>
#include <string.h>

#define COUNT_WIDTH 9
#define AMOUNT_WIDTH 12

/* ---- edges ---- */

/* Compares the keys of two edges. */
static int compare_keys(const void *left, const void *right)
{
    const struct clp_call_edge *a = left, *b = right;

    if (a->caller != b->caller)
        return a->caller < b->caller ? -1 : 1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (a->callee != b->callee)
        return a->callee < b->callee ? -1 : 1;
    return a->through - b->through;
}

/* Sorts the longest times first. */
static int compare_times(const void *left, const void *right)
{
    const struct clp_call_edge *a = left, *b = right;

    if (a->time != b->time)
        return a->time > b->time ? -1 : 1;
    return compare_keys(left, right);
}

static struct clp_call_edge edge_of(const struct clp_profile *profile, const struct clp_profile_call *call)
{
    return (struct clp_call_edge){
        .caller = call->parent != 0 ? profile->calls[call->parent - 1].function : CLP_CALL_DEEPER,
        .callee = call->function,
        .line = call->line,
        .through = call->through,
        .calls = call->calls,
        .time = call->time,
        .increment = call->increment,
    };
}

/* Adds up edges with equal keys, which stand behind each other. Returns how many are left. */
static size_t join(struct clp_call_edge *edges, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        struct clp_call_edge *last = kept != 0 ? &edges[kept - 1] : NULL;
        if (last == NULL || compare_keys(last, &edges[i]) != 0) {
            edges[kept++] = edges[i];
            continue;
        }
        last->calls = clp_measures_sum(last->calls, edges[i].calls);
        last->time = clp_measures_sum(last->time, edges[i].time);
        if (__builtin_add_overflow(last->increment, edges[i].increment, &last->increment))
            last->increment = edges[i].increment < 0 ? INT64_MIN : INT64_MAX;
    }
    return kept;
}

clp_status clp_call_edges(const struct clp_profile *profile, struct clp_call_edge **edges, size_t *count)
{
    size_t room = profile->call_count;
    struct clp_call_edge *all = clp_mem_alloc(profile->mem, room, sizeof *all);
    void *block;

    *edges = NULL;
    *count = 0;
    if (room == 0)
        return CLP_OK;
    if (all == NULL)
        return CLP_NO_MEMORY;
    for (size_t i = 0; i < room; i++)
        all[i] = edge_of(profile, &profile->calls[i]);
    qsort(all, room, sizeof *all, compare_keys);
    size_t kept = join(all, room);
    qsort(all, kept, sizeof *all, compare_times);
    block = all;
    if (clp_mem_grow(profile->mem, &block, &room, kept, sizeof *all) != CLP_OK) {
        clp_mem_free(profile->mem, all, room, sizeof *all);
        return CLP_NO_MEMORY;
    }
    *edges = block;
    *count = kept;
    return CLP_OK;
}

/* ---- tables ---- */

struct page {
    const struct clp_call_table *calls;
    struct clp_table table; /* writes titles and cells */
    bool through;           /* has any row been reached through code that is not selected? */
};

static void start_heading(const struct page *page, const char *text)
{
    clp_buf_add_text(page->table.out, page->calls->marked ? CLP_MARK_HEADING : "");
    clp_buf_add_text(page->table.out, text);
}

static void add_amount(const struct page *page, enum clp_measure_kind kind, double amount)
{
    struct clp_number number;
    struct clp_buf text;

    clp_buf_init(&text, page->table.out->mem);
    if (page->calls->marked && kind == CLP_MEASURE_NANOS) {
        clp_number_set_time(&number, amount);
        clp_buf_add_text(&text, number.text);
    } else {
        clp_amount_add(&text, kind, amount, false);
    }
    clp_table_add_cell(&page->table, AMOUNT_WIDTH + 1, clp_buf_text(&text));
    clp_buf_clear(&text);
}

/* Without marks the place and the source of a row are one cell. */
static void add_titles(const struct page *page, const char *last)
{
    const struct clp_table *table = &page->table;
    bool memory = page->calls->profile->meta.has_memory;
    size_t width = COUNT_WIDTH + (memory ? 2u : 1u) * (AMOUNT_WIDTH + 1) + 2 + strlen(last);

    clp_table_start_titles(table);
    clp_table_add_title(table, 'c', COUNT_WIDTH, "Calls");
    clp_table_add_title(table, 't', AMOUNT_WIDTH + 1, "Time");
    if (memory)
        clp_table_add_title(table, 'b', AMOUNT_WIDTH + 1, "Increment");
    clp_table_add_title(table, 'w', 0, "  ");
    if (table->marked)
        clp_buf_add_text(table->out, last);
    clp_table_end_titles(table, 's', table->marked ? "  Line Contents" : last, width);
}

static void add_numbers(const struct page *page, const struct clp_call_edge *edge)
{
    const struct clp_whole *whole = &page->table.whole;
    struct clp_table_row row = {0};
    struct clp_number calls;

    row.heat = whole->time != 0 ? clp_column_share((double)edge->time, whole->time) : 0;
    row.heat_memory = whole->moved != 0 ? clp_column_share((double)edge->increment, whole->moved) : 0;
    clp_table_start_row(&page->table, &row);
    clp_number_set_count(&calls, (double)edge->calls, COUNT_WIDTH);
    clp_table_add_cell(&page->table, COUNT_WIDTH, calls.text);
    add_amount(page, CLP_MEASURE_NANOS, (double)edge->time);
    if (page->calls->profile->meta.has_memory)
        add_amount(page, CLP_MEASURE_BYTES, (double)edge->increment);
    clp_buf_add_text(page->table.out, "  ");
}

/* Returns the text of the caller's line; an empty one if it is not known. */
static struct clp_span text_of(const struct page *page, const struct clp_call_edge *edge)
{
    const struct clp_profile_function *caller =
        edge->caller != CLP_CALL_DEEPER ? &page->calls->profile->functions[edge->caller] : NULL;

    if (caller == NULL || caller->source == NULL || edge->line < caller->first_line)
        return (struct clp_span){"", 0};
    struct clp_source_walk walk = {.text = {caller->source, caller->source_bytes}};
    return clp_source_stripped(clp_source_line_at(&walk, caller->first_line, edge->line));
}

/* Ends a row behind its place. */
static void end_row(struct page *page, const struct clp_call_edge *edge)
{
    struct clp_buf *out = page->table.out;
    struct clp_span text = text_of(page, edge);
    bool through = edge->through && edge->caller != CLP_CALL_DEEPER;

    page->through |= through;
    if (page->table.marked) {
        clp_buf_add_text(out, through ? " *" CLP_MARK_CELL : CLP_MARK_CELL);
        clp_table_add_source(&page->table, "  ", text);
        return;
    }
    clp_buf_add_text(out, text.bytes != 0 ? "  " : "");
    clp_escape_add(out, text.text, text.bytes);
    clp_buf_add_text(out, through ? "  (through code that is not selected)\n" : "\n");
}

static void add_caller(const struct page *page, const struct clp_call_edge *edge)
{
    struct clp_buf *out = page->table.out;

    if (edge->caller == CLP_CALL_DEEPER) {
        clp_buf_add_text(out, "code that is not selected");
        return;
    }
    const struct clp_profile_function *caller = &page->calls->profile->functions[edge->caller];
    clp_escape_add_text(out, caller->name);
    clp_buf_add_text(out, " at ");
    clp_escape_add_file(out, caller->file, page->calls->folder);
    if (edge->line != 0)
        clp_buf_add_format(out, ":%d", (int)edge->line);
}

static void add_callee(const struct page *page, const struct clp_call_edge *edge)
{
    struct clp_buf *out = page->table.out;

    if (edge->callee == CLP_CALL_DEEPER)
        clp_buf_add_text(out, "more contexts than a profile keeps");
    else
        clp_escape_add_text(out, page->calls->profile->functions[edge->callee].name);
    if (edge->line != 0)
        clp_buf_add_format(out, " at line %d", (int)edge->line);
}

/* ---- the two tables of a function ---- */

static bool has_run(const struct clp_profile_function *function)
{
    size_t i = 0;

    while (i < function->line_count && function->lines[i].measures.hits == 0)
        i++;
    return i < function->line_count;
}

/* Appends a sentence where the callers are not all that there were. `time` is what the known ones took together: the
 * function's total, or more where calls lie within each other. */
static void add_unknown_callers(const struct page *page, const struct clp_profile_function *function, size_t known,
                                uint64_t time)
{
    struct clp_buf *out = page->table.out;

    if (known == 0 && !has_run(function)) {
        clp_buf_add_text(out, "It was never called.\n");
    } else if (known == 0) {
        clp_buf_add_text(out, "Who called it is not known: an older clineprof or another tool recorded it.\n");
    } else if (page->calls->profile->calls_cut == 0 && (double)time < 0.95 * (double)function->total) {
        clp_buf_add_text(out, "\nOther callers are not known: these took ");
        clp_amount_add(out, CLP_MEASURE_NANOS, (double)time, false);
        clp_buf_add_text(out, " of its ");
        clp_amount_add(out, CLP_MEASURE_NANOS, (double)function->total, false);
        clp_buf_add_text(out, ", and an older clineprof or another tool recorded the rest.\n");
    }
}

static void add_callers(struct page *page, size_t place)
{
    size_t known = 0;
    uint64_t time = 0;

    for (size_t i = 0; i < page->calls->count; i++) {
        const struct clp_call_edge *edge = &page->calls->edges[i];
        if (edge->callee != place)
            continue;
        if (known++ == 0)
            add_titles(page, "Called from");
        time = clp_measures_sum(time, edge->time);
        add_numbers(page, edge);
        add_caller(page, edge);
        end_row(page, edge);
    }
    add_unknown_callers(page, &page->calls->profile->functions[place], known, time);
}

static void add_callees(struct page *page, size_t place)
{
    bool any = false;

    for (size_t i = 0; i < page->calls->count; i++) {
        const struct clp_call_edge *edge = &page->calls->edges[i];
        if (edge->caller != place)
            continue;
        if (!any) {
            clp_buf_add_text(page->table.out, "\n");
            add_titles(page, "Calls to");
        }
        any = true;
        add_numbers(page, edge);
        add_callee(page, edge);
        end_row(page, edge);
    }
}

void clp_call_table_add(const struct clp_call_table *calls, size_t place, struct clp_buf *out)
{
    const struct clp_profile_function *function = &calls->profile->functions[place];
    struct page page = {.calls = calls, .table = {.out = out, .marked = calls->marked}};

    if (calls->marked)
        page.table.whole = clp_whole_of(calls->profile, false);
    start_heading(&page, "File: ");
    clp_escape_add_file(out, function->file, calls->folder);
    clp_buf_add_text(out, "\n");
    start_heading(&page, "Function: ");
    clp_escape_add_text(out, function->name);
    clp_buf_add_format(out, " at line %d\n\n", (int)function->first_line);
    add_callers(&page, place);
    add_callees(&page, place);
    if (calls->marked && page.through)
        clp_buf_add_text(out, "* through code that is not selected\n");
}
