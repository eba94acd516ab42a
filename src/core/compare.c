/* SPDX-License-Identifier: MIT */
/* First each side by itself (struct clp_compare_store): its functions, over all of its profiles, the
 * rows of each, and for each row a pointer into each profile. Then the two stores against each
 * other. Nothing of the profiles is copied but sums over whole functions. */
#include "compare.h"
#include "align.h"
#include "match.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A line of a function: of its text, or one that ran outside of it. */
struct row {
    int64_t offset; /* from the function's first line */
    struct clp_span text;
};

struct function {
    const struct clp_profile_function *base; /* whose text and line numbers are shown */
    struct row *rows;                        /* ascending by offset */
    size_t row_count, row_room;
    size_t text_start, text_count; /* the rows with text: offsets 0 to text_count - 1 */
    const struct clp_measures **samples; /* row_count times the number of profiles */
};

struct clp_compare_store {
    const struct clp_profile *profiles;
    size_t files;
    struct function *functions;
    size_t function_count;
    /* function_count times files each; a member is NULL where the profile lacks the function */
    const struct clp_profile_function **members;
    struct clp_measures *totals;
    const struct clp_measures **total_samples;
};

struct work {
    struct clp_comparison *comparison;
    struct clp_mem *mem;
    struct clp_align align;
};

/* ---- texts ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\f';
}

static struct clp_span stripped(struct clp_span text)
{
    while (text.bytes != 0 && is_space(*text.text)) {
        text.text++;
        text.bytes--;
    }
    while (text.bytes != 0 && is_space(text.text[text.bytes - 1]))
        text.bytes--;
    return text;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

#define ENDS_LOOKED_AT 256 /* bytes, from the beginning and from the end */

/* Do they share half of the longer one, at the beginning and at the end? */
static bool are_similar(struct clp_span one, struct clp_span other)
{
    struct clp_span a = stripped(one), b = stripped(other);
    size_t least = smaller(a.bytes, b.bytes), most = a.bytes + b.bytes - least;
    size_t start = 0, end = 0, limit = smaller(least, ENDS_LOOKED_AT);

    while (start < limit && a.text[start] == b.text[start])
        start++;
    limit = smaller(least - start, ENDS_LOOKED_AT);
    while (end < limit && a.text[a.bytes - 1 - end] == b.text[b.bytes - 1 - end])
        end++;
    return least != 0 && 2 * (start + end) >= smaller(most, 2 * ENDS_LOOKED_AT);
}

static bool are_equal(struct clp_span a, struct clp_span b)
{
    return a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.text, b.text, a.bytes) == 0);
}

static bool same_text(const struct clp_profile_function *a, const struct clp_profile_function *b)
{
    return a->source != NULL && b->source != NULL && a->source_bytes == b->source_bytes &&
           memcmp(a->source, b->source, a->source_bytes) == 0;
}

static bool both_have_text(const struct clp_profile_function *a,
                           const struct clp_profile_function *b)
{
    return a->source != NULL && b->source != NULL;
}

static size_t count_lines(const struct clp_profile_function *function)
{
    struct clp_span rest = {function->source, function->source_bytes}, line;
    size_t count = 0;

    while (function->source != NULL && clp_source_next_line(&rest, &line))
        count++;
    return count;
}

static uint64_t hash_line(struct clp_span line)
{
    struct clp_span text = stripped(line);

    return clp_hash_text(0, text.text, text.bytes);
}

/* ---- the functions of a side ---- */

/* Which function of the store each function of each profile is: one profile after the other is
 * matched with what the ones before it had. */
struct joining {
    size_t room; /* functions in all profiles */
    const struct clp_profile_function **bases, **these;
    size_t *places; /* of all profiles, one behind the other */
    size_t count;   /* of bases */
};

static clp_status join_profile(struct work *work, struct joining *joining,
                               const struct clp_profile *profile, size_t *places)
{
    for (size_t i = 0; i < profile->function_count; i++)
        joining->these[i] = &profile->functions[i];
    if (clp_match_functions(&work->align, joining->these, profile->function_count, joining->bases,
                            joining->count, places) != CLP_OK)
        return CLP_NO_MEMORY;
    for (size_t i = 0; i < profile->function_count; i++) {
        if (places[i] != CLP_ALIGN_NONE)
            continue;
        places[i] = joining->count;
        joining->bases[joining->count++] = joining->these[i];
    }
    return CLP_OK;
}

static clp_status join_profiles(struct work *work, const struct clp_compare_store *store,
                                struct joining *joining)
{
    size_t at = 0;

    for (size_t i = 0; i < store->files; i++)
        joining->room += store->profiles[i].function_count;
    joining->bases = clp_mem_alloc(work->mem, joining->room, sizeof *joining->bases);
    joining->these = clp_mem_alloc(work->mem, joining->room, sizeof *joining->these);
    joining->places = clp_mem_alloc(work->mem, joining->room, sizeof *joining->places);
    if (joining->room != 0 &&
        (joining->bases == NULL || joining->these == NULL || joining->places == NULL))
        return CLP_NO_MEMORY;
    for (size_t i = 0; i < store->files; i++) {
        if (join_profile(work, joining, &store->profiles[i], joining->places + at) != CLP_OK)
            return CLP_NO_MEMORY;
        at += store->profiles[i].function_count;
    }
    return CLP_OK;
}

static clp_status take_store(struct clp_mem *mem, struct clp_compare_store *store, size_t count)
{
    store->function_count = count;
    store->functions = clp_mem_alloc(mem, count, sizeof *store->functions);
    store->members = clp_mem_alloc(mem, count * store->files, sizeof *store->members);
    store->totals = clp_mem_alloc(mem, count * store->files, sizeof *store->totals);
    store->total_samples = clp_mem_alloc(mem, count * store->files, sizeof *store->total_samples);
    if (count != 0 && (store->functions == NULL || store->members == NULL ||
                       store->totals == NULL || store->total_samples == NULL))
        return CLP_NO_MEMORY;
    return CLP_OK;
}

static clp_status find_members(struct work *work, struct clp_compare_store *store)
{
    struct joining joining = {0};
    size_t at = 0;
    clp_status status = join_profiles(work, store, &joining);

    if (status == CLP_OK)
        status = take_store(work->mem, store, joining.count);
    for (size_t i = 0; i < store->files && status == CLP_OK; i++)
        for (size_t j = 0; j < store->profiles[i].function_count; j++)
            store->members[joining.places[at++] * store->files + i] =
                &store->profiles[i].functions[j];
    clp_mem_free(work->mem, joining.bases, joining.room, sizeof *joining.bases);
    clp_mem_free(work->mem, joining.these, joining.room, sizeof *joining.these);
    clp_mem_free(work->mem, joining.places, joining.room, sizeof *joining.places);
    return status;
}

static void sum_function(const struct clp_profile_function *member, struct clp_measures *total)
{
    for (size_t i = 0; i < member->line_count; i++)
        clp_measures_merge(total, &member->lines[i].measures);
    total->time = member->total;
    total->raw_time = member->raw_total;
}

static void sum_functions(struct clp_compare_store *store)
{
    for (size_t i = 0; i < store->function_count * store->files; i++) {
        if (store->members[i] == NULL)
            continue;
        sum_function(store->members[i], &store->totals[i]);
        store->total_samples[i] = &store->totals[i];
    }
}

/* ---- the rows of a side ---- */

/* A member's lines as rows of its function. Where its text is another than the shown one, `map`
 * says which of the shown lines each of its own is. */
struct view {
    const struct clp_profile_function *member;
    size_t *map; /* NULL: by distance from the first line */
    size_t map_count;
};

#define NOWHERE INT64_MIN

static int64_t offset_of(const struct view *view, int32_t line)
{
    int64_t offset = (int64_t)line - view->member->first_line;

    if (view->map == NULL)
        return offset;
    if (offset < 0 || (uint64_t)offset >= view->map_count ||
        view->map[offset] == CLP_ALIGN_NONE)
        return NOWHERE;
    return (int64_t)view->map[offset];
}

static uint64_t *hash_lines(struct clp_mem *mem, const struct clp_profile_function *function,
                            size_t count)
{
    struct clp_span rest = {function->source, function->source_bytes}, line;
    uint64_t *hashes = clp_mem_alloc(mem, count, sizeof *hashes);

    for (size_t i = 0; hashes != NULL && clp_source_next_line(&rest, &line); i++)
        hashes[i] = hash_line(line);
    return hashes;
}

static clp_status map_view(struct work *work, const struct function *function, struct view *view)
{
    size_t count = count_lines(view->member), base_count = function->text_count;
    uint64_t *own = hash_lines(work->mem, view->member, count);
    uint64_t *base = hash_lines(work->mem, function->base, base_count);
    clp_status status = CLP_NO_MEMORY;

    view->map = clp_mem_alloc(work->mem, count, sizeof *view->map);
    view->map_count = count;
    if (own != NULL && base != NULL && view->map != NULL)
        status = clp_align_items(&work->align, own, count, base, base_count, view->map);
    clp_mem_free(work->mem, own, count, sizeof *own);
    clp_mem_free(work->mem, base, base_count, sizeof *base);
    return status;
}

static clp_status open_view(struct work *work, const struct function *function,
                            const struct clp_profile_function *member, struct view *view)
{
    *view = (struct view){.member = member};
    if (!both_have_text(member, function->base) || same_text(member, function->base))
        return CLP_OK;
    return map_view(work, function, view);
}

static void close_view(struct work *work, struct view *view)
{
    clp_mem_free(work->mem, view->map, view->map_count, sizeof *view->map);
}

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;

    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static bool is_outside(const struct function *function, int64_t offset)
{
    return offset != NOWHERE && (offset < 0 || (uint64_t)offset >= function->text_count);
}

static size_t count_lines_outside(const struct view *view, const struct function *function)
{
    size_t count = 0;

    for (size_t i = 0; i < view->member->line_count; i++)
        count += is_outside(function, offset_of(view, view->member->lines[i].line));
    return count;
}

/* Appends a row for each line of the view that has none; sorting comes later. */
static void add_lines_outside(const struct view *view, struct function *function)
{
    for (size_t i = 0; i < view->member->line_count; i++) {
        int64_t offset = offset_of(view, view->member->lines[i].line);
        if (is_outside(function, offset))
            function->rows[function->row_count++] = (struct row){.offset = offset};
    }
}

static void add_text_rows(struct function *function)
{
    struct clp_span rest = {function->base->source, function->base->source_bytes}, line;

    while (function->base->source != NULL && clp_source_next_line(&rest, &line)) {
        function->rows[function->row_count] =
            (struct row){.offset = (int64_t)function->row_count, .text = line};
        function->row_count++;
    }
}

/* In order, each once. */
static void sort_rows(struct function *function)
{
    size_t count = 0;

    if (function->row_count > function->text_count)
        qsort(function->rows, function->row_count, sizeof *function->rows, compare_rows);
    for (size_t i = 0; i < function->row_count; i++)
        if (i == 0 || function->rows[i].offset != function->rows[count - 1].offset)
            function->rows[count++] = function->rows[i];
    function->row_count = count;
    while (function->text_start < count && function->rows[function->text_start].offset < 0)
        function->text_start++;
}

static size_t find_row(const struct function *function, int64_t offset)
{
    size_t low = 0, high = function->row_count;

    if (offset >= 0 && (uint64_t)offset < function->text_count)
        return function->text_start + (size_t)offset;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (function->rows[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void take_samples(struct work *work, const struct view *view, struct function *function,
                         size_t files, size_t file)
{
    for (size_t i = 0; i < view->member->line_count; i++) {
        const struct clp_profile_line *line = &view->member->lines[i];
        int64_t offset = offset_of(view, line->line);
        if (offset == NOWHERE)
            work->comparison->lost++;
        else
            function->samples[find_row(function, offset) * files + file] = &line->measures;
    }
}

/* The views of one function, of those profiles that have it. */
struct views {
    struct view *items;
    size_t *files;
    size_t count;
};

static clp_status open_views(struct work *work, const struct clp_compare_store *store, size_t place,
                             struct views *views)
{
    struct function *function = &store->functions[place];
    const struct clp_profile_function *const *members = &store->members[place * store->files];

    views->count = 0;
    for (size_t i = 0; i < store->files; i++)
        if (members[i] != NULL && (function->base == NULL || (function->base->source == NULL &&
                                                              members[i]->source != NULL)))
            function->base = members[i];
    function->text_count = count_lines(function->base);
    for (size_t i = 0; i < store->files; i++) {
        if (members[i] == NULL)
            continue;
        views->files[views->count] = i;
        if (open_view(work, function, members[i], &views->items[views->count++]) != CLP_OK)
            return CLP_NO_MEMORY;
    }
    return CLP_OK;
}

static void close_views(struct work *work, struct views *views)
{
    for (size_t i = 0; i < views->count; i++)
        close_view(work, &views->items[i]);
}

static clp_status make_rows(struct work *work, const struct clp_compare_store *store,
                            struct function *function, const struct views *views)
{
    function->row_room = function->text_count;
    for (size_t i = 0; i < views->count; i++)
        function->row_room += count_lines_outside(&views->items[i], function);
    function->rows = clp_mem_alloc(work->mem, function->row_room, sizeof *function->rows);
    function->samples = clp_mem_alloc(work->mem, function->row_room * store->files,
                                      sizeof *function->samples);
    if (function->row_room != 0 && (function->rows == NULL || function->samples == NULL))
        return CLP_NO_MEMORY;
    add_text_rows(function);
    for (size_t i = 0; i < views->count; i++)
        add_lines_outside(&views->items[i], function);
    sort_rows(function);
    for (size_t i = 0; i < views->count; i++)
        take_samples(work, &views->items[i], function, store->files, views->files[i]);
    return CLP_OK;
}

static clp_status make_all_rows(struct work *work, struct clp_compare_store *store)
{
    struct views views = {
        .items = clp_mem_alloc(work->mem, store->files, sizeof *views.items),
        .files = clp_mem_alloc(work->mem, store->files, sizeof *views.files),
    };
    clp_status status = CLP_OK;

    if (store->files != 0 && (views.items == NULL || views.files == NULL))
        status = CLP_NO_MEMORY;
    for (size_t i = 0; i < store->function_count && status == CLP_OK; i++) {
        status = open_views(work, store, i, &views);
        if (status == CLP_OK)
            status = make_rows(work, store, &store->functions[i], &views);
        close_views(work, &views);
    }
    clp_mem_free(work->mem, views.items, store->files, sizeof *views.items);
    clp_mem_free(work->mem, views.files, store->files, sizeof *views.files);
    return status;
}

static void free_store(struct clp_mem *mem, struct clp_compare_store *store)
{
    if (store == NULL)
        return;
    size_t places = store->function_count * store->files;
    for (size_t i = 0; store->functions != NULL && i < store->function_count; i++) {
        struct function *function = &store->functions[i];
        clp_mem_free(mem, function->rows, function->row_room, sizeof *function->rows);
        clp_mem_free(mem, function->samples, function->row_room * store->files,
                     sizeof *function->samples);
    }
    clp_mem_free(mem, store->functions, store->function_count, sizeof *store->functions);
    clp_mem_free(mem, store->members, places, sizeof *store->members);
    clp_mem_free(mem, store->totals, places, sizeof *store->totals);
    clp_mem_free(mem, store->total_samples, places, sizeof *store->total_samples);
    clp_mem_free(mem, store, 1, sizeof *store);
}

static clp_status make_store(struct work *work, const struct clp_compare_side *side,
                             struct clp_compare_store **out)
{
    struct clp_compare_store *store = clp_mem_alloc(work->mem, 1, sizeof *store);

    *out = store;
    if (store == NULL)
        return CLP_NO_MEMORY;
    store->profiles = side->profiles;
    store->files = side->count;
    if (find_members(work, store) != CLP_OK)
        return CLP_NO_MEMORY;
    sum_functions(store);
    return make_all_rows(work, store);
}

/* ---- the rows of two functions, against each other ---- */

struct pair {
    struct clp_compare_store *stores[2];
    const struct function *functions[2]; /* NULL where a side has none */
    size_t *to;                          /* of the old rows */
};

static void add_row(struct work *work, const struct pair *pair, size_t old_row, size_t new_row)
{
    struct clp_compared_row *row = &work->comparison->rows[work->comparison->row_count++];
    size_t places[2] = {old_row, new_row};

    *row = (struct clp_compared_row){0};
    for (int side = 0; side < 2; side++) {
        if (places[side] == CLP_ALIGN_NONE)
            continue;
        const struct function *function = pair->functions[side];
        const struct row *from = &function->rows[places[side]];
        row->has[side] = true;
        row->line[side] = function->base->first_line + from->offset;
        row->text[side] = from->text;
        row->samples.sides[side] =
            &function->samples[places[side] * pair->stores[side]->files];
    }
    row->edited = row->has[CLP_OLD] && row->has[CLP_NEW] &&
                  both_have_text(pair->functions[CLP_OLD]->base, pair->functions[CLP_NEW]->base) &&
                  !are_equal(row->text[CLP_OLD], row->text[CLP_NEW]);
}

static size_t row_count(const struct function *function)
{
    return function != NULL ? function->row_count : 0;
}

/* What is gone stands before what came in its place. */
static void add_rows(struct work *work, const struct pair *pair)
{
    size_t old_count = row_count(pair->functions[CLP_OLD]);
    size_t new_count = row_count(pair->functions[CLP_NEW]), j = 0;

    for (size_t i = 0; i < old_count; i++) {
        if (pair->to[i] == CLP_ALIGN_NONE) {
            add_row(work, pair, i, CLP_ALIGN_NONE);
            continue;
        }
        while (j < pair->to[i])
            add_row(work, pair, CLP_ALIGN_NONE, j++);
        add_row(work, pair, i, j++);
    }
    while (j < new_count)
        add_row(work, pair, CLP_ALIGN_NONE, j++);
}

static void match_by_offset(const struct pair *pair)
{
    const struct function *a = pair->functions[CLP_OLD], *b = pair->functions[CLP_NEW];

    for (size_t i = 0, j = 0; i < a->row_count; i++) {
        while (j < b->row_count && b->rows[j].offset < a->rows[i].offset)
            j++;
        bool same = j < b->row_count && b->rows[j].offset == a->rows[i].offset;
        pair->to[i] = same ? j : CLP_ALIGN_NONE;
    }
}

static bool is_in_text(const struct function *function, size_t place)
{
    return place >= function->text_start &&
           place - function->text_start < function->text_count;
}

/* Lines outside of the text are the same at the same distance from it. */
static uint64_t key_of(const struct function *function, size_t place)
{
    int64_t distance = function->rows[place].offset;

    if (is_in_text(function, place))
        return hash_line(function->rows[place].text);
    if (distance >= 0)
        distance -= (int64_t)function->text_count;
    return clp_hash_text(1, (const char *)&distance, sizeof distance);
}

static uint64_t *keys_of(struct clp_mem *mem, const struct function *function)
{
    uint64_t *keys = clp_mem_alloc(mem, function->row_count, sizeof *keys);

    for (size_t i = 0; keys != NULL && i < function->row_count; i++)
        keys[i] = key_of(function, i);
    return keys;
}

#define EDITED_WITHIN 8 /* lines */

/* Pairs old rows [start, end) with new ones of [next, limit), which are like them. */
static void match_edited(const struct pair *pair, size_t start, size_t end, size_t next,
                         size_t limit)
{
    const struct function *a = pair->functions[CLP_OLD], *b = pair->functions[CLP_NEW];

    for (size_t i = start; i < end && next < limit; i++) {
        size_t last = smaller(limit, next + EDITED_WITHIN), j = next;
        while (j < last && !(is_in_text(a, i) && is_in_text(b, j) &&
                             are_similar(a->rows[i].text, b->rows[j].text)))
            j++;
        if (j == last)
            continue;
        pair->to[i] = j;
        next = j + 1;
    }
}

static void match_edited_rows(const struct pair *pair)
{
    size_t old_count = pair->functions[CLP_OLD]->row_count, next = 0;

    for (size_t i = 0; i <= old_count; i++) {
        size_t start = i;
        while (i < old_count && pair->to[i] == CLP_ALIGN_NONE)
            i++;
        size_t limit = i < old_count ? pair->to[i] : pair->functions[CLP_NEW]->row_count;
        match_edited(pair, start, i, next, limit);
        next = limit + 1;
    }
}

static clp_status match_by_text(struct work *work, const struct pair *pair)
{
    const struct function *a = pair->functions[CLP_OLD], *b = pair->functions[CLP_NEW];
    uint64_t *a_keys = keys_of(work->mem, a), *b_keys = keys_of(work->mem, b);
    clp_status status = CLP_NO_MEMORY;

    if (a_keys != NULL && b_keys != NULL)
        status = clp_align_items(&work->align, a_keys, a->row_count, b_keys, b->row_count, pair->to);
    if (status == CLP_OK)
        match_edited_rows(pair);
    clp_mem_free(work->mem, a_keys, a->row_count, sizeof *a_keys);
    clp_mem_free(work->mem, b_keys, b->row_count, sizeof *b_keys);
    return status;
}

static clp_status compare_rows_of(struct work *work, struct pair *pair)
{
    const struct function *a = pair->functions[CLP_OLD], *b = pair->functions[CLP_NEW];
    size_t count = row_count(a);
    clp_status status = CLP_OK;

    pair->to = clp_mem_alloc(work->mem, count, sizeof *pair->to);
    if (pair->to == NULL && count != 0)
        return CLP_NO_MEMORY;
    for (size_t i = 0; b == NULL && i < count; i++)
        pair->to[i] = CLP_ALIGN_NONE;
    if (a != NULL && b != NULL && both_have_text(a->base, b->base) && !same_text(a->base, b->base))
        status = match_by_text(work, pair);
    else if (a != NULL && b != NULL)
        match_by_offset(pair);
    if (status == CLP_OK)
        add_rows(work, pair);
    clp_mem_free(work->mem, pair->to, count, sizeof *pair->to);
    return status;
}

static clp_status compare_functions(struct work *work, size_t old_place, size_t new_place)
{
    struct clp_comparison *comparison = work->comparison;
    struct clp_compared_function *out = &comparison->functions[comparison->function_count++];
    size_t places[2] = {old_place, new_place}, start = comparison->row_count;
    struct pair pair = {.stores = {comparison->stores[CLP_OLD], comparison->stores[CLP_NEW]}};

    for (int side = 0; side < 2; side++) {
        if (places[side] == CLP_ALIGN_NONE)
            continue;
        pair.functions[side] = &pair.stores[side]->functions[places[side]];
        out->sides[side] = pair.functions[side]->base;
        out->samples.sides[side] =
            &pair.stores[side]->total_samples[places[side] * pair.stores[side]->files];
    }
    clp_status status = compare_rows_of(work, &pair);
    out->rows = comparison->rows + start;
    out->row_count = comparison->row_count - start;
    return status;
}

/* ---- the whole ---- */

static clp_status take_comparison(struct clp_comparison *comparison)
{
    for (int side = 0; side < 2; side++) {
        const struct clp_compare_store *store = comparison->stores[side];
        comparison->function_room += store->function_count;
        for (size_t i = 0; i < store->function_count; i++)
            comparison->row_room += store->functions[i].row_count;
    }
    comparison->functions = clp_mem_alloc(comparison->mem, comparison->function_room,
                                          sizeof *comparison->functions);
    comparison->rows =
        clp_mem_alloc(comparison->mem, comparison->row_room, sizeof *comparison->rows);
    if ((comparison->functions == NULL && comparison->function_room != 0) ||
        (comparison->rows == NULL && comparison->row_room != 0))
        return CLP_NO_MEMORY;
    return CLP_OK;
}

static const struct clp_profile_function **bases_of(struct clp_mem *mem,
                                                    const struct clp_compare_store *store)
{
    const struct clp_profile_function **bases =
        clp_mem_alloc(mem, store->function_count, sizeof *bases);

    for (size_t i = 0; bases != NULL && i < store->function_count; i++)
        bases[i] = store->functions[i].base;
    return bases;
}

/* The new side's functions with what they were, then those that none of them was. */
static clp_status compare_matched(struct work *work, const size_t *to, size_t old_count,
                                  size_t new_count)
{
    size_t *from = clp_mem_alloc(work->mem, new_count, sizeof *from);
    clp_status status = from != NULL || new_count == 0 ? CLP_OK : CLP_NO_MEMORY;

    for (size_t i = 0; i < new_count && status == CLP_OK; i++)
        from[i] = CLP_ALIGN_NONE;
    for (size_t i = 0; i < old_count && status == CLP_OK; i++)
        if (to[i] != CLP_ALIGN_NONE)
            from[to[i]] = i;
    for (size_t i = 0; i < new_count && status == CLP_OK; i++)
        status = compare_functions(work, from[i], i);
    for (size_t i = 0; i < old_count && status == CLP_OK; i++)
        if (to[i] == CLP_ALIGN_NONE)
            status = compare_functions(work, i, CLP_ALIGN_NONE);
    clp_mem_free(work->mem, from, new_count, sizeof *from);
    return status;
}

static clp_status compare_stores(struct work *work)
{
    const struct clp_compare_store *a = work->comparison->stores[CLP_OLD];
    const struct clp_compare_store *b = work->comparison->stores[CLP_NEW];
    const struct clp_profile_function **a_bases = bases_of(work->mem, a);
    const struct clp_profile_function **b_bases = bases_of(work->mem, b);
    size_t *to = clp_mem_alloc(work->mem, a->function_count, sizeof *to);
    clp_status status = CLP_NO_MEMORY;

    bool have_old = a->function_count == 0 || (a_bases != NULL && to != NULL);
    if (have_old && (b_bases != NULL || b->function_count == 0))
        status = clp_match_functions(&work->align, a_bases, a->function_count, b_bases,
                                     b->function_count, to);
    if (status == CLP_OK)
        status = compare_matched(work, to, a->function_count, b->function_count);
    clp_mem_free(work->mem, a_bases, a->function_count, sizeof *a_bases);
    clp_mem_free(work->mem, b_bases, b->function_count, sizeof *b_bases);
    clp_mem_free(work->mem, to, a->function_count, sizeof *to);
    return status;
}

/* A profile of another tool may know hits and times only: then all the rest of it is zero. */
static bool knows_more_than_time(const struct clp_profile *profile)
{
    bool timed = false;

    for (size_t i = 0; i < profile->function_count; i++) {
        for (size_t j = 0; j < profile->functions[i].line_count; j++) {
            const struct clp_measures *measures = &profile->functions[i].lines[j].measures;
            if (measures->self != 0 || measures->max != 0)
                return true;
            timed |= measures->time != 0;
        }
    }
    return !timed;
}

static void find_known(struct clp_comparison *comparison, int side,
                       const struct clp_compare_side *profiles)
{
    bool memory = true, times = true;

    for (size_t i = 0; i < profiles->count; i++) {
        memory = memory && profiles->profiles[i].meta.has_memory;
        times = times && knows_more_than_time(&profiles->profiles[i]);
    }
    for (unsigned i = 0; i < CLP_MEASURES; i++) {
        enum clp_measure measure = (enum clp_measure)i;
        bool always = measure == CLP_MEASURE_TIME || measure == CLP_MEASURE_HITS ||
                      measure == CLP_MEASURE_TOTAL;
        bool bytes = clp_measure_kind_of(measure) == CLP_MEASURE_BYTES;
        comparison->known[side][i] = always || (bytes ? memory : times);
    }
}

struct clp_compare_options clp_compare_defaults(void)
{
    return (struct clp_compare_options){
        .time_floor = 1e6,
        .hit_floor = 50,
        .bytes_floor = 64 * 1024,
        .measures = {CLP_MEASURE_TIME, CLP_MEASURE_INCREMENT},
        .measure_count = 2,
    };
}

/* One amount; *at is moved behind it. */
static bool set_one_floor(struct clp_compare_options *options, const char **at)
{
    double amount;

    if (!clp_measure_read_number(at, &amount))
        return false;
    size_t bytes = strcspn(*at, ",/");
    double nanos = amount * clp_measure_unit(CLP_MEASURE_NANOS, *at, bytes);
    double memory = amount * clp_measure_unit(CLP_MEASURE_BYTES, *at, bytes);
    bool none = bytes == 0 && amount == 0, is_time = none, is_memory = none, by_hit = false;
    is_time |= clp_measure_unit(CLP_MEASURE_NANOS, *at, bytes) != 0;
    is_memory |= clp_measure_unit(CLP_MEASURE_BYTES, *at, bytes) != 0;
    *at += bytes;
    if (is_time && strncmp(*at, "/hit", 4) == 0) {
        by_hit = true;
        *at += 4;
    }
    if (is_time && !by_hit)
        options->time_floor = nanos;
    if (by_hit || none)
        options->hit_floor = nanos;
    if (is_memory && !by_hit)
        options->bytes_floor = memory;
    return (is_time || is_memory) && (**at == 0 || **at == ',');
}

bool clp_compare_set_floor(struct clp_compare_options *options, const char *text,
                           struct clp_buf *fault)
{
    struct clp_compare_options found = *options;

    for (const char *at = text;; at++) {
        if (!set_one_floor(&found, &at)) {
            clp_buf_add_format(fault, "needs amounts such as 1ms,50ns/hit,64KiB or 0, not '%s'",
                               text);
            return false;
        }
        if (*at == 0)
            break;
    }
    *options = found;
    return true;
}

bool clp_compare_set_measures(struct clp_compare_options *options, const char *names,
                              struct clp_buf *fault)
{
    struct clp_compare_options found = *options;
    size_t bytes;

    found.measure_count = 0;
    for (const char *at = names;; at += bytes + 1) {
        bytes = strcspn(at, ",");
        enum clp_measure measure = clp_measure_named(at, bytes);
        if (measure >= CLP_MEASURE_TOTAL || found.measure_count == CLP_COMPARE_MOST_MEASURES) {
            clp_buf_add_text(fault, "needs some of ");
            for (unsigned i = 0; i < CLP_MEASURE_TOTAL; i++)
                clp_buf_add_format(fault, "%s%s", i == 0 ? "" : ",",
                                   clp_measure_name((enum clp_measure)i));
            clp_buf_add_format(fault, ", not '%.*s'", (int)bytes, at);
            return false;
        }
        found.measures[found.measure_count++] = measure;
        if (at[bytes] == 0)
            break;
    }
    *options = found;
    return true;
}

/* ---- changes ---- */

static struct clp_range range_of(const struct clp_comparison *comparison,
                                 const struct clp_samples *samples, int side,
                                 enum clp_measure measure)
{
    const struct clp_measures *const *values = samples->sides[side];
    size_t count = comparison->file_counts[side];
    struct clp_range range = {0};
    double sum = 0;

    for (size_t i = 0; values != NULL && i < count; i++) {
        double value = values[i] != NULL ? clp_measure_value(measure, values[i]) : 0;
        sum += value;
        range.low = i == 0 || value < range.low ? value : range.low;
        range.high = i == 0 || value > range.high ? value : range.high;
    }
    if (sum != 0)
        range.mean = sum / (double)count;
    return range;
}

static double noise_of(const struct clp_comparison *comparison, const struct clp_samples *samples,
                       enum clp_measure measure)
{
    const struct clp_compare_options *options = &comparison->options;

    switch (clp_measure_kind_of(measure)) {
    case CLP_MEASURE_NANOS: {
        double before = range_of(comparison, samples, CLP_OLD, CLP_MEASURE_HITS).mean;
        double after = range_of(comparison, samples, CLP_NEW, CLP_MEASURE_HITS).mean;
        return fmax(options->time_floor, options->hit_floor * fmax(before, after));
    }
    case CLP_MEASURE_BYTES:
        return options->bytes_floor;
    default:
        return 0;
    }
}

static double percent_of(double change, double before)
{
    if (change == 0)
        return 0;
    return before != 0 ? 100 * change / fabs(before) : copysign(INFINITY, change);
}

struct clp_change clp_comparison_change(const struct clp_comparison *comparison,
                                        const struct clp_samples *samples,
                                        enum clp_measure measure)
{
    struct clp_change change = {
        .before = range_of(comparison, samples, CLP_OLD, measure),
        .after = range_of(comparison, samples, CLP_NEW, measure),
    };

    change.change = change.after.mean - change.before.mean;
    change.percent = percent_of(change.change, change.before.mean);
    change.changed = (change.before.high < change.after.low ||
                      change.after.high < change.before.low) &&
                     fabs(change.change) > noise_of(comparison, samples, measure);
    return change;
}

bool clp_comparison_ran(const struct clp_comparison *comparison, const struct clp_samples *samples,
                        int side)
{
    const struct clp_measures *const *values = samples->sides[side];

    for (size_t i = 0; values != NULL && i < comparison->file_counts[side]; i++)
        if (values[i] != NULL && (values[i]->hits != 0 || values[i]->time != 0))
            return true;
    return false;
}

/* ---- verdicts ---- */

const char *clp_verdict_text(enum clp_verdict verdict)
{
#define CLP_VERDICT_NAME(name, text) text,
    static const char *const texts[] = {CLP_VERDICT_TABLE(CLP_VERDICT_NAME)};
#undef CLP_VERDICT_NAME

    return texts[verdict];
}

static unsigned bit(enum clp_verdict verdict)
{
    return 1u << verdict;
}

/* 0 where the measure has not changed. */
static unsigned judge(const struct clp_comparison *comparison, const struct clp_samples *samples,
                      enum clp_measure measure, enum clp_verdict more, enum clp_verdict less)
{
    struct clp_change change = clp_comparison_change(comparison, samples, measure);

    return !change.changed ? 0 : bit(change.change > 0 ? more : less);
}

/* By the first time and the first memory among the measures. */
static unsigned judge_measures(const struct clp_comparison *comparison,
                               const struct clp_samples *samples)
{
    const struct clp_compare_options *options = &comparison->options;
    bool by_time = false, by_memory = false;
    unsigned verdicts = 0;

    for (size_t i = 0; i < options->measure_count; i++) {
        enum clp_measure measure = options->measures[i];
        enum clp_measure_kind kind = clp_measure_kind_of(measure);
        if (!comparison->known[CLP_OLD][measure] || !comparison->known[CLP_NEW][measure])
            continue;
        if (kind == CLP_MEASURE_NANOS && !by_time) {
            by_time = true;
            verdicts |= judge(comparison, samples, measure, CLP_VERDICT_SLOWER, CLP_VERDICT_FASTER);
        } else if (kind == CLP_MEASURE_BYTES && !by_memory) {
            by_memory = true;
            verdicts |= judge(comparison, samples, measure, CLP_VERDICT_GROWN, CLP_VERDICT_SHRUNK);
        }
    }
    return verdicts;
}

static unsigned judge_row(const struct clp_comparison *comparison,
                          const struct clp_compared_row *row)
{
    if (!row->has[CLP_OLD] || !row->has[CLP_NEW]) {
        int side = row->has[CLP_NEW] ? CLP_NEW : CLP_OLD;
        if (!clp_comparison_ran(comparison, &row->samples, side))
            return 0;
        return bit(side == CLP_NEW ? CLP_VERDICT_NEW : CLP_VERDICT_GONE);
    }
    return judge_measures(comparison, &row->samples) |
           judge(comparison, &row->samples, CLP_MEASURE_HITS, CLP_VERDICT_MORE, CLP_VERDICT_FEWER);
}

static unsigned judge_function(const struct clp_comparison *comparison,
                               const struct clp_compared_function *function)
{
    if (function->sides[CLP_OLD] == NULL)
        return bit(CLP_VERDICT_NEW);
    if (function->sides[CLP_NEW] == NULL)
        return bit(CLP_VERDICT_GONE);
    return judge_measures(comparison, &function->samples);
}

static void judge_all(struct clp_comparison *comparison)
{
    for (size_t i = 0; i < comparison->function_count; i++) {
        struct clp_compared_function *function = &comparison->functions[i];
        function->verdicts = judge_function(comparison, function);
        function->changed = function->verdicts != 0;
        for (size_t j = 0; j < function->row_count; j++) {
            function->rows[j].verdicts = judge_row(comparison, &function->rows[j]);
            function->changed |= function->rows[j].verdicts != 0;
        }
    }
}

/* ---- made and cleared ---- */

clp_status clp_comparison_make(struct clp_comparison *comparison, struct clp_mem *mem,
                               const struct clp_compare_options *options,
                               const struct clp_compare_side sides[2])
{
    struct work work = {.comparison = comparison, .mem = mem, .align = {.mem = mem}};
    clp_status status = CLP_OK;

    *comparison = (struct clp_comparison){.mem = mem, .options = *options};
    for (int side = 0; side < 2 && status == CLP_OK; side++) {
        comparison->file_counts[side] = sides[side].count;
        find_known(comparison, side, &sides[side]);
        status = make_store(&work, &sides[side], &comparison->stores[side]);
    }
    if (status == CLP_OK)
        status = take_comparison(comparison);
    if (status == CLP_OK)
        status = compare_stores(&work);
    if (status == CLP_OK)
        judge_all(comparison);
    comparison->steps = work.align.steps;
    if (status != CLP_OK)
        clp_comparison_clear(comparison);
    return status;
}

void clp_comparison_clear(struct clp_comparison *comparison)
{
    struct clp_mem *mem = comparison->mem;

    clp_mem_free(mem, comparison->rows, comparison->row_room, sizeof *comparison->rows);
    clp_mem_free(mem, comparison->functions, comparison->function_room,
                 sizeof *comparison->functions);
    free_store(mem, comparison->stores[CLP_OLD]);
    free_store(mem, comparison->stores[CLP_NEW]);
    *comparison = (struct clp_comparison){.mem = mem};
}

/* ---- lists ---- */

struct weighed {
    double weights[2]; /* by the first two measures; 0 within the noise */
    size_t place;
};

static int compare_weights(const void *left, const void *right)
{
    const struct weighed *a = left, *b = right;

    for (int i = 0; i < 2; i++)
        if (a->weights[i] != b->weights[i])
            return a->weights[i] > b->weights[i] ? -1 : 1;
    return a->place < b->place ? -1 : 1;
}

static struct weighed weigh(const struct clp_comparison *comparison, size_t place)
{
    const struct clp_samples *samples = &comparison->functions[place].samples;
    struct weighed weighed = {.place = place};

    for (size_t i = 0; i < 2 && i < comparison->options.measure_count; i++) {
        struct clp_change change =
            clp_comparison_change(comparison, samples, comparison->options.measures[i]);
        weighed.weights[i] = change.changed ? fabs(change.change) : 0;
    }
    return weighed;
}

clp_status clp_comparison_list_make(struct clp_comparison_list *list,
                                    const struct clp_comparison *comparison, bool all)
{
    size_t room = comparison->function_count, count = 0;
    struct weighed *weighed = clp_mem_alloc(comparison->mem, room, sizeof *weighed);
    size_t *places = clp_mem_alloc(comparison->mem, room, sizeof *places);
    clp_status status = CLP_NO_MEMORY;

    if (room != 0 && (weighed == NULL || places == NULL))
        goto out;
    for (size_t i = 0; i < room; i++)
        if (all || comparison->functions[i].changed)
            weighed[count++] = weigh(comparison, i);
    if (count > 1)
        qsort(weighed, count, sizeof *weighed, compare_weights);
    for (size_t i = 0; i < count; i++)
        places[i] = weighed[i].place;
    *list = (struct clp_comparison_list){places, count, room};
    places = NULL;
    status = CLP_OK;
out:
    clp_mem_free(comparison->mem, weighed, room, sizeof *weighed);
    clp_mem_free(comparison->mem, places, room, sizeof *places);
    return status;
}

void clp_comparison_list_clear(struct clp_comparison_list *list, struct clp_mem *mem)
{
    clp_mem_free(mem, list->places, list->room, sizeof *list->places);
    *list = (struct clp_comparison_list){0};
}

static void count_verdicts(unsigned verdicts, size_t counts[CLP_VERDICTS])
{
    for (unsigned i = 0; i < CLP_VERDICTS; i++)
        counts[i] += verdicts >> i & 1;
}

struct clp_comparison_tally clp_comparison_count(const struct clp_comparison *comparison)
{
    struct clp_comparison_tally tally = {0};

    for (size_t i = 0; i < comparison->function_count; i++) {
        const struct clp_compared_function *function = &comparison->functions[i];
        bool both = function->sides[CLP_OLD] != NULL && function->sides[CLP_NEW] != NULL;
        count_verdicts(function->verdicts, tally.functions);
        for (size_t j = 0; both && j < function->row_count; j++)
            count_verdicts(function->rows[j].verdicts, tally.lines);
        tally.within += function->verdicts == 0 && function->changed;
        tally.unchanged += !function->changed;
    }
    return tally;
}
