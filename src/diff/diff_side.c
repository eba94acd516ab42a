/* SPDX-License-Identifier: MIT */
#include "diff_side.h"
#include "match.h"
#include <stdlib.h>
#include <string.h>

/* ---- texts ---- */

uint64_t clp_diff_side_hash_line(struct clp_span line)
{
    struct clp_span text = clp_source_stripped(line);

    return clp_hash_text(0, text.text, text.bytes);
}

bool clp_diff_side_have_texts(const struct clp_profile_function *a, const struct clp_profile_function *b)
{
    return a->source != NULL && b->source != NULL;
}

bool clp_diff_side_have_same_text(const struct clp_profile_function *a,
                                  const struct clp_profile_function *b)
{
    return a->source != NULL && b->source != NULL && a->source_bytes == b->source_bytes &&
           memcmp(a->source, b->source, a->source_bytes) == 0;
}

static size_t count_lines(const struct clp_profile_function *function)
{
    struct clp_span rest = {function->source, function->source_bytes}, line;
    size_t count = 0;

    while (function->source != NULL && clp_source_next_line(&rest, &line))
        count++;
    return count;
}

/* ---- the functions of a side ---- */

/* Finds which function of the side each function of each profile is. One profile after the other is matched with the
 * functions of the profiles before it. */
struct joining {
    size_t room; /* functions in all profiles */
    const struct clp_profile_function **bases, **these; /* the side's functions so far; the current profile's */
    size_t *places; /* indices in bases of the functions of all profiles, one profile behind the other */
    size_t count;   /* number of bases */
};

static clp_status join_profile(struct clp_align *align, struct joining *joining,
                               const struct clp_profile *profile, size_t *places)
{
    for (size_t i = 0; i < profile->function_count; i++)
        joining->these[i] = &profile->functions[i];
    if (clp_match_functions(align, joining->these, profile->function_count, joining->bases,
                            joining->count, false, places) != CLP_OK)
        return CLP_NO_MEMORY;
    for (size_t i = 0; i < profile->function_count; i++) {
        if (places[i] != CLP_ALIGN_NONE)
            continue;
        places[i] = joining->count;
        joining->bases[joining->count++] = joining->these[i];
    }
    return CLP_OK;
}

static clp_status join_profiles(struct clp_align *align, const struct clp_diff_side *side,
                                struct joining *joining)
{
    size_t at = 0;

    for (size_t i = 0; i < side->files; i++)
        joining->room += side->profiles[i].function_count;
    joining->bases = clp_mem_alloc(align->mem, joining->room, sizeof *joining->bases);
    joining->these = clp_mem_alloc(align->mem, joining->room, sizeof *joining->these);
    joining->places = clp_mem_alloc(align->mem, joining->room, sizeof *joining->places);
    if (joining->room != 0 &&
        (joining->bases == NULL || joining->these == NULL || joining->places == NULL))
        return CLP_NO_MEMORY;
    for (size_t i = 0; i < side->files; i++) {
        if (join_profile(align, joining, &side->profiles[i], joining->places + at) != CLP_OK)
            return CLP_NO_MEMORY;
        at += side->profiles[i].function_count;
    }
    return CLP_OK;
}

static clp_status take_room(struct clp_mem *mem, struct clp_diff_side *side, size_t count)
{
    side->function_count = count;
    side->functions = clp_mem_alloc(mem, count, sizeof *side->functions);
    side->members = clp_mem_alloc(mem, count * side->files, sizeof *side->members);
    side->totals = clp_mem_alloc(mem, count * side->files, sizeof *side->totals);
    side->total_samples = clp_mem_alloc(mem, count * side->files, sizeof *side->total_samples);
    if (count != 0 && (side->functions == NULL || side->members == NULL ||
                       side->totals == NULL || side->total_samples == NULL))
        return CLP_NO_MEMORY;
    return CLP_OK;
}

static clp_status find_members(struct clp_align *align, struct clp_diff_side *side)
{
    struct joining joining = {0};
    size_t at = 0;
    clp_status status = join_profiles(align, side, &joining);

    if (status == CLP_OK)
        status = take_room(align->mem, side, joining.count);
    for (size_t i = 0; i < side->files && status == CLP_OK; i++)
        for (size_t j = 0; j < side->profiles[i].function_count; j++)
            side->members[joining.places[at++] * side->files + i] =
                &side->profiles[i].functions[j];
    clp_mem_free(align->mem, joining.bases, joining.room, sizeof *joining.bases);
    clp_mem_free(align->mem, joining.these, joining.room, sizeof *joining.these);
    clp_mem_free(align->mem, joining.places, joining.room, sizeof *joining.places);
    return status;
}

static void sum_function(const struct clp_profile_function *member, struct clp_measures *total)
{
    for (size_t i = 0; i < member->line_count; i++)
        clp_measures_merge(total, &member->lines[i].measures);
    total->time = member->total;
    total->raw_time = member->raw_total;
}

static void sum_functions(struct clp_diff_side *side)
{
    for (size_t i = 0; i < side->function_count * side->files; i++) {
        if (side->members[i] == NULL)
            continue;
        sum_function(side->members[i], &side->totals[i]);
        side->total_samples[i] = &side->totals[i];
    }
}

/* ---- the rows of a side ---- */

/* Maps the lines of a member (the function in one profile) to the rows of the function. Where the member's text
 * differs from the shown text, `map` has the shown line for each line of the member. */
struct view {
    const struct clp_profile_function *member;
    size_t *map; /* NULL: lines are mapped by their distance from the first line */
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
        hashes[i] = clp_diff_side_hash_line(line);
    return hashes;
}

static clp_status map_view(struct clp_align *align, const struct clp_diff_side_function *function,
                           struct view *view)
{
    size_t count = count_lines(view->member), base_count = function->text_count;
    uint64_t *own = hash_lines(align->mem, view->member, count);
    uint64_t *base = hash_lines(align->mem, function->base, base_count);
    clp_status status = CLP_NO_MEMORY;

    view->map = clp_mem_alloc(align->mem, count, sizeof *view->map);
    view->map_count = count;
    if (own != NULL && base != NULL && view->map != NULL)
        status = clp_align_items(align, own, count, base, base_count, view->map);
    clp_mem_free(align->mem, own, count, sizeof *own);
    clp_mem_free(align->mem, base, base_count, sizeof *base);
    return status;
}

static clp_status open_view(struct clp_align *align, const struct clp_diff_side_function *function,
                            const struct clp_profile_function *member, struct view *view)
{
    *view = (struct view){.member = member};
    if (!clp_diff_side_have_texts(member, function->base) ||
        clp_diff_side_have_same_text(member, function->base))
        return CLP_OK;
    return map_view(align, function, view);
}

static void close_view(struct clp_align *align, struct view *view)
{
    clp_mem_free(align->mem, view->map, view->map_count, sizeof *view->map);
}

static int compare_rows(const void *left, const void *right)
{
    const struct clp_diff_side_row *a = left, *b = right;

    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static bool is_outside(const struct clp_diff_side_function *function, int64_t offset)
{
    return offset != NOWHERE && (offset < 0 || (uint64_t)offset >= function->text_count);
}

static size_t count_lines_outside(const struct view *view, const struct clp_diff_side_function *function)
{
    size_t count = 0;

    for (size_t i = 0; i < view->member->line_count; i++)
        count += is_outside(function, offset_of(view, view->member->lines[i].line));
    return count;
}

/* Appends a row for each line of the view outside of the text. sort_rows puts the rows in order. */
static void add_lines_outside(const struct view *view, struct clp_diff_side_function *function)
{
    for (size_t i = 0; i < view->member->line_count; i++) {
        int64_t offset = offset_of(view, view->member->lines[i].line);
        if (is_outside(function, offset))
            function->rows[function->row_count++] = (struct clp_diff_side_row){.offset = offset};
    }
}

static void add_text_rows(struct clp_diff_side_function *function)
{
    struct clp_span rest = {function->base->source, function->base->source_bytes}, line;

    while (function->base->source != NULL && clp_source_next_line(&rest, &line)) {
        function->rows[function->row_count] =
            (struct clp_diff_side_row){.offset = (int64_t)function->row_count, .text = line};
        function->row_count++;
    }
}

/* Sorts the rows by offset and drops the second of two rows with the same offset. */
static void sort_rows(struct clp_diff_side_function *function)
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

static size_t find_row(const struct clp_diff_side_function *function, int64_t offset)
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

static void take_samples(struct clp_diff_side *side, const struct view *view,
                         struct clp_diff_side_function *function, size_t file)
{
    for (size_t i = 0; i < view->member->line_count; i++) {
        const struct clp_profile_line *line = &view->member->lines[i];
        int64_t offset = offset_of(view, line->line);
        if (offset == NOWHERE)
            side->lost++;
        else
            function->samples[find_row(function, offset) * side->files + file] = &line->measures;
    }
}

/* The views of one function, one for each profile that has the function; files[i] is the index of the profile. */
struct views {
    struct view *items;
    size_t *files;
    size_t count;
};

static clp_status open_views(struct clp_align *align, const struct clp_diff_side *side, size_t place,
                             struct views *views)
{
    struct clp_diff_side_function *function = &side->functions[place];
    const struct clp_profile_function *const *members = &side->members[place * side->files];

    views->count = 0;
    for (size_t i = 0; i < side->files; i++)
        if (members[i] != NULL && (function->base == NULL || (function->base->source == NULL &&
                                                              members[i]->source != NULL)))
            function->base = members[i];
    function->text_count = count_lines(function->base);
    for (size_t i = 0; i < side->files; i++) {
        if (members[i] == NULL)
            continue;
        views->files[views->count] = i;
        if (open_view(align, function, members[i], &views->items[views->count++]) != CLP_OK)
            return CLP_NO_MEMORY;
    }
    return CLP_OK;
}

static void close_views(struct clp_align *align, struct views *views)
{
    for (size_t i = 0; i < views->count; i++)
        close_view(align, &views->items[i]);
}

static clp_status make_rows(struct clp_align *align, struct clp_diff_side *side,
                            struct clp_diff_side_function *function, const struct views *views)
{
    function->row_room = function->text_count;
    for (size_t i = 0; i < views->count; i++)
        function->row_room += count_lines_outside(&views->items[i], function);
    function->rows = clp_mem_alloc(align->mem, function->row_room, sizeof *function->rows);
    function->samples = clp_mem_alloc(align->mem, function->row_room * side->files,
                                      sizeof *function->samples);
    if (function->row_room != 0 && (function->rows == NULL || function->samples == NULL))
        return CLP_NO_MEMORY;
    add_text_rows(function);
    for (size_t i = 0; i < views->count; i++)
        add_lines_outside(&views->items[i], function);
    sort_rows(function);
    for (size_t i = 0; i < views->count; i++)
        take_samples(side, &views->items[i], function, views->files[i]);
    return CLP_OK;
}

static clp_status make_all_rows(struct clp_align *align, struct clp_diff_side *side)
{
    struct views views = {
        .items = clp_mem_alloc(align->mem, side->files, sizeof *views.items),
        .files = clp_mem_alloc(align->mem, side->files, sizeof *views.files),
    };
    clp_status status = CLP_OK;

    if (side->files != 0 && (views.items == NULL || views.files == NULL))
        status = CLP_NO_MEMORY;
    for (size_t i = 0; i < side->function_count && status == CLP_OK; i++) {
        status = open_views(align, side, i, &views);
        if (status == CLP_OK)
            status = make_rows(align, side, &side->functions[i], &views);
        close_views(align, &views);
    }
    clp_mem_free(align->mem, views.items, side->files, sizeof *views.items);
    clp_mem_free(align->mem, views.files, side->files, sizeof *views.files);
    return status;
}

clp_status clp_diff_side_make(struct clp_diff_side *side, struct clp_align *align,
                              const struct clp_profile *profiles, size_t count)
{
    *side = (struct clp_diff_side){.profiles = profiles, .files = count};
    if (find_members(align, side) != CLP_OK)
        return CLP_NO_MEMORY;
    sum_functions(side);
    return make_all_rows(align, side);
}

void clp_diff_side_clear(struct clp_diff_side *side, struct clp_mem *mem)
{
    size_t places = side->function_count * side->files;

    for (size_t i = 0; side->functions != NULL && i < side->function_count; i++) {
        struct clp_diff_side_function *function = &side->functions[i];
        clp_mem_free(mem, function->rows, function->row_room, sizeof *function->rows);
        clp_mem_free(mem, function->samples, function->row_room * side->files,
                     sizeof *function->samples);
    }
    clp_mem_free(mem, side->functions, side->function_count, sizeof *side->functions);
    clp_mem_free(mem, side->members, places, sizeof *side->members);
    clp_mem_free(mem, side->totals, places, sizeof *side->totals);
    clp_mem_free(mem, side->total_samples, places, sizeof *side->total_samples);
    *side = (struct clp_diff_side){0};
}
