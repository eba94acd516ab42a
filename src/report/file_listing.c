/* SPDX-License-Identifier: MIT */
#include "file_listing.h"
#include "formats/lprof/wire_rows.h"
#include <stdlib.h>
#include <string.h>

static const struct clp_profile_function *function_at(const struct clp_file_listings *listings, size_t at)
{
    return &listings->profile->functions[listings->places[at]];
}

/* ---- the order of files ---- */

/* A function of the choice. */
struct entry {
    size_t file, at; /* places in the choice: of the first function of its file, and its own */
    size_t place;    /* in the profile */
    double amount;   /* what its file is sorted by */
};

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;

    if (a->amount != b->amount)
        return a->amount < b->amount ? -1 : 1;
    return a->file != b->file ? (a->file > b->file) - (a->file < b->file) : (a->at > b->at) - (a->at < b->at);
}

/* Returns the measure of all lines of the function. In the place of time it is the self time, if the profile has any,
 * because lines of one file are in the times of others. */
static double amount_of(const struct clp_file_listings *listings, const struct clp_profile_function *function,
                        enum clp_choice_order order)
{
    struct clp_measures all = {0};
    struct clp_wire_rows rows;

    if (order == CLP_CHOICE_BY_ORDER || order == CLP_CHOICE_BY_NAME)
        return 0;
    for (clp_wire_rows_start(&rows, listings->profile, function); rows.at != NULL; clp_wire_rows_next(&rows))
        clp_measures_merge(&all, &rows.at->measures);
    if (order == CLP_CHOICE_BY_time && all.self != 0)
        order = CLP_CHOICE_BY_self;
    return clp_measure_value(clp_choice_measure(order), &all);
}

/* Fills the entries. Equal hashes of two files only mix them; clp_file_listings_next tells them apart. */
static clp_status fill_entries(struct clp_file_listings *listings, const struct clp_choice *choice,
                               enum clp_choice_order order, struct entry *entries)
{
    struct clp_hashmap files;
    clp_status status = CLP_OK;

    clp_hashmap_init(&files, listings->mem);
    for (size_t i = 0; i < choice->count && status == CLP_OK; i++) {
        const struct clp_profile_function *function = &listings->profile->functions[choice->places[i]];
        uint64_t key = clp_hash_text(0, function->file, strlen(function->file)), first = i;
        if (!clp_hashmap_get(&files, key, &first))
            status = clp_hashmap_set(&files, key, i);
        entries[i] = (struct entry){.file = (size_t)first, .at = i, .place = choice->places[i]};
        entries[first].amount += amount_of(listings, function, order);
    }
    for (size_t i = 0; i < choice->count; i++)
        entries[i].amount = entries[entries[i].file].amount;
    clp_hashmap_clear(&files);
    return status;
}

clp_status clp_file_listings_start(struct clp_file_listings *listings, const struct clp_profile *profile,
                                   const struct clp_choice *choice, enum clp_choice_order order,
                                   struct clp_mem *mem)
{
    struct entry *entries = clp_mem_alloc(mem, choice->count, sizeof *entries);

    *listings = (struct clp_file_listings){.profile = profile, .mem = mem, .count = choice->count};
    clp_hashmap_init(&listings->by_line, mem);
    listings->places = clp_mem_alloc(mem, choice->count, sizeof *listings->places);
    clp_status status = (entries != NULL && listings->places != NULL) || choice->count == 0 ? CLP_OK : CLP_NO_MEMORY;
    if (status == CLP_OK)
        status = fill_entries(listings, choice, order, entries);
    if (status == CLP_OK && choice->count > 1)
        qsort(entries, choice->count, sizeof *entries, compare_entries);
    for (size_t i = 0; status == CLP_OK && i < choice->count; i++)
        listings->places[i] = entries[i].place;
    clp_mem_free(mem, entries, choice->count, sizeof *entries);
    if (status != CLP_OK)
        clp_file_listings_clear(listings);
    return status;
}

void clp_file_listings_clear(struct clp_file_listings *listings)
{
    clp_mem_free(listings->mem, listings->places, listings->count, sizeof *listings->places);
    clp_mem_free(listings->mem, listings->listing.rows, listings->listing.room, sizeof *listings->listing.rows);
    clp_hashmap_clear(&listings->by_line);
}

/* ---- rows ---- */

static struct clp_file_row *find_row(const struct clp_file_listings *listings, int32_t line)
{
    uint64_t place;

    return clp_hashmap_get(&listings->by_line, (uint64_t)line, &place) ? &listings->listing.rows[place] : NULL;
}

/* Finds the row of the line, or appends one. NULL: out of memory. */
static struct clp_file_row *row_of(struct clp_file_listings *listings, int32_t line)
{
    struct clp_file_listing *listing = &listings->listing;
    struct clp_file_row *found = find_row(listings, line);
    void *rows = listing->rows;

    if (found != NULL)
        return found;
    if (listing->count == listing->room) {
        if (clp_mem_grow(listings->mem, &rows, &listing->room, listing->room != 0 ? listing->room * 2 : 64,
                         sizeof *listing->rows) != CLP_OK)
            return NULL;
        listing->rows = rows;
    }
    if (clp_hashmap_set(&listings->by_line, (uint64_t)line, listing->count) != CLP_OK)
        return NULL;
    listing->rows[listing->count] = (struct clp_file_row){.line = line};
    return &listing->rows[listing->count++];
}

/* Walks a text that begins at line `first` of the file. It agrees if each of its lines is that of the listing, as far
 * as the listing has the line. */
static bool agrees(const struct clp_file_listings *listings, struct clp_span rest, int32_t first)
{
    struct clp_span line;

    for (int32_t at = first; clp_source_next_line(&rest, &line); at++) {
        const struct clp_file_row *row = find_row(listings, at);
        if (row != NULL && row->text.text != NULL &&
            (row->text.bytes != line.bytes || memcmp(row->text.text, line.text, line.bytes) != 0))
            return false;
    }
    return true;
}

static clp_status add_text(struct clp_file_listings *listings, struct clp_span rest, int32_t first)
{
    struct clp_span line;

    for (int32_t at = first; clp_source_next_line(&rest, &line); at++) {
        struct clp_file_row *row = row_of(listings, at);
        if (row == NULL)
            return CLP_NO_MEMORY;
        row->text = line;
    }
    return CLP_OK;
}

static clp_status add_lines(struct clp_file_listings *listings, const struct clp_profile_function *function)
{
    struct clp_wire_rows rows;

    for (clp_wire_rows_start(&rows, listings->profile, function); rows.at != NULL; clp_wire_rows_next(&rows)) {
        struct clp_file_row *row = row_of(listings, rows.at->line);
        if (row == NULL)
            return CLP_NO_MEMORY;
        row->functions++;
        row->running |= rows.at->running;
        clp_measures_merge(&row->measures, &rows.at->measures);
    }
    for (size_t i = 0; i < function->missed_count; i++) {
        struct clp_file_row *row = row_of(listings, function->missed[i]);
        if (row == NULL)
            return CLP_NO_MEMORY;
        row->missed = true;
    }
    return CLP_OK;
}

static bool may_join(const struct clp_file_listings *listings, const struct clp_profile_function *function)
{
    const struct clp_file_listing *listing = &listings->listing;

    if (strcmp(function->file, listing->file) != 0)
        return false;
    if (function->source == NULL) /* texts of exec() all have one name, so nothing says that two are the same */
        return *function->file != '<' || listing->functions == 0;
    return agrees(listings, (struct clp_span){function->source, function->source_bytes}, function->first_line);
}

static clp_status join(struct clp_file_listings *listings, const struct clp_profile_function *function)
{
    clp_status status = add_lines(listings, function);

    listings->listing.functions++;
    if (status != CLP_OK || function->source == NULL)
        return status;
    return add_text(listings, (struct clp_span){function->source, function->source_bytes}, function->first_line);
}

/* ---- lines of several functions ---- */

static uint64_t less(uint64_t value, double part)
{
    return part < (double)value ? value - (uint64_t)part : 0;
}

/* Takes off a line what a function took that the line calls, and that has a part of the same line: `share` of what the
 * function's line took. */
static void take_off(struct clp_measures *sum, const struct clp_measures *callee, double share)
{
    sum->time = less(sum->time, share * (double)callee->time);
    sum->raw_time = less(sum->raw_time, share * (double)callee->raw_time);
    sum->grown = less(sum->grown, share * (double)callee->grown);
    sum->released = less(sum->released, share * (double)callee->released);
    sum->time = sum->time < sum->self ? sum->self : sum->time;
    sum->raw_time = sum->raw_time < sum->raw_self ? sum->raw_self : sum->raw_time;
}

static const struct clp_profile_line *line_of(struct clp_wire_rows *rows, const struct clp_profile *profile,
                                              const struct clp_profile_function *function, int32_t line)
{
    clp_wire_rows_start(rows, profile, function);
    while (rows->at != NULL && rows->at->line < line)
        clp_wire_rows_next(rows);
    return rows->at != NULL && rows->at->line == line ? rows->at : NULL;
}

/* Looks at a call of a function from a line of the listing. */
static void take_off_call(struct clp_file_listings *listings, const struct clp_profile_call *call)
{
    const struct clp_profile *profile = listings->profile;
    const struct clp_profile_function *callee, *caller;
    struct clp_wire_rows rows;

    if (call->parent == 0 || call->function == CLP_CALL_DEEPER ||
        profile->calls[call->parent - 1].function == CLP_CALL_DEEPER)
        return;
    callee = &profile->functions[call->function];
    caller = &profile->functions[profile->calls[call->parent - 1].function];
    struct clp_file_row *row = find_row(listings, call->line);
    if (row == NULL || row->functions < 2 || strcmp(callee->file, listings->listing.file) != 0 ||
        strcmp(caller->file, listings->listing.file) != 0)
        return;
    const struct clp_profile_line *own = line_of(&rows, profile, callee, call->line);
    double share = callee->total != 0 ? (double)call->time / (double)callee->total : 1;
    if (own == NULL)
        return;
    struct clp_measures taken = own->measures;
    if (profile->gc_apart) { /* the caller's time has the callee's collections */
        taken.time += taken.gc;
        taken.raw_time += taken.gc;
    }
    take_off(&row->measures, &taken, share < 1 ? share : 1);
}

static void take_off_calls(struct clp_file_listings *listings)
{
    bool any = false;

    for (size_t i = 0; i < listings->listing.count && !any; i++)
        any = listings->listing.rows[i].functions > 1;
    for (size_t i = 0; any && i < listings->profile->call_count; i++)
        take_off_call(listings, &listings->profile->calls[i]);
}

/* ---- listings ---- */

static int compare_lines(const void *left, const void *right)
{
    const struct clp_file_row *a = left, *b = right;

    return (a->line > b->line) - (a->line < b->line);
}

static void finish(struct clp_file_listings *listings)
{
    struct clp_file_listing *listing = &listings->listing;

    take_off_calls(listings);
    for (size_t i = 0; i < listing->count; i++)
        listing->rows[i].missed &= listing->rows[i].functions == 0;
    if (listing->count > 1)
        qsort(listing->rows, listing->count, sizeof *listing->rows, compare_lines);
}

/* Begins the listing of the function's file, with the file's whole text if the profile has it and it fits. */
static clp_status begin(struct clp_file_listings *listings, const struct clp_profile_function *function)
{
    const struct clp_profile *profile = listings->profile;
    struct clp_file_listing *listing = &listings->listing;
    clp_status status = CLP_OK;

    clp_hashmap_clear(&listings->by_line);
    listing->version = listing->file != NULL && strcmp(listing->file, function->file) == 0 ? listing->version + 1 : 1;
    listing->file = function->file;
    listing->count = listing->functions = 0;
    for (size_t i = 0; i < profile->text_count && status == CLP_OK && listing->version == 1; i++)
        if (profile->texts[i].file != NULL && strcmp(profile->texts[i].file, function->file) == 0)
            status = add_text(listings, (struct clp_span){profile->texts[i].text, profile->texts[i].bytes}, 1);
    return status;
}

/* Moves listings->end behind the last function of the next rank. */
static void find_end(struct clp_file_listings *listings)
{
    const char *file = function_at(listings, listings->next)->file;

    listings->end = listings->next;
    while (listings->end < listings->count && strcmp(function_at(listings, listings->end)->file, file) == 0)
        listings->end++;
}

/* Makes a listing of the functions places[next..end) that agree; the others stay for the next listing. */
static clp_status make(struct clp_file_listings *listings)
{
    clp_status status = begin(listings, function_at(listings, listings->next));

    for (size_t i = listings->next; i < listings->end && status == CLP_OK; i++) {
        size_t place = listings->places[i];
        if (!may_join(listings, &listings->profile->functions[place]))
            continue;
        status = join(listings, &listings->profile->functions[place]);
        listings->places[i] = listings->places[listings->next];
        listings->places[listings->next++] = place;
    }
    return status;
}

clp_status clp_file_listings_next(struct clp_file_listings *listings, bool *more)
{
    clp_status status = CLP_OK;

    *more = listings->next < listings->count;
    if (!*more)
        return CLP_OK;
    if (listings->next == listings->end)
        find_end(listings);
    do /* without the file's whole text, the first function always joins */
        status = make(listings);
    while (status == CLP_OK && listings->listing.functions == 0);
    finish(listings);
    return status;
}
