/* SPDX-License-Identifier: MIT */
#include "compare.h"
#include "compare_calls.h"
#include "match.h"
#include "verdict.h"
#include <stdlib.h>
#include <string.h>

struct work {
    struct clp_comparison *comparison;
    struct clp_mem *mem;
    struct clp_align align;
};

/* ---- texts ---- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

#define ENDS_LOOKED_AT 256 /* bytes that are compared at the beginning and at the end of a line */

/* Do the beginnings and ends that the two lines share add up to at least half of the longer line? */
static bool are_similar(struct clp_span one, struct clp_span other)
{
    struct clp_span a = clp_source_stripped(one), b = clp_source_stripped(other);
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

/* ---- the rows of two functions, against each other ---- */

struct pair {
    const struct clp_diff_side *sides[2];
    const struct clp_diff_side_function *functions[2]; /* NULL where a side does not have the function */
    size_t *to;                                   /* for each old row the index of its new row, or CLP_ALIGN_NONE */
};

static void add_row(struct work *work, const struct pair *pair, size_t old_row, size_t new_row)
{
    struct clp_compared_row *row = &work->comparison->rows[work->comparison->row_count++];
    size_t places[2] = {old_row, new_row};

    *row = (struct clp_compared_row){0};
    for (int side = 0; side < 2; side++) {
        if (places[side] == CLP_ALIGN_NONE)
            continue;
        const struct clp_diff_side_function *function = pair->functions[side];
        const struct clp_diff_side_row *from = &function->rows[places[side]];
        row->has[side] = true;
        row->line[side] = function->base->first_line + from->offset;
        row->text[side] = from->text;
        row->samples.sides[side] =
            &function->samples[places[side] * pair->sides[side]->files];
    }
    row->edited = row->text[CLP_OLD].text != NULL && row->text[CLP_NEW].text != NULL &&
                  !are_equal(row->text[CLP_OLD], row->text[CLP_NEW]);
}

static size_t row_count(const struct clp_diff_side_function *function)
{
    return function != NULL ? function->row_count : 0;
}

/* Adds the rows of both sides in the order of the text. A line that is gone stands before the lines in its place. */
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
    const struct clp_diff_side_function *a = pair->functions[CLP_OLD], *b = pair->functions[CLP_NEW];

    for (size_t i = 0, j = 0; i < a->row_count; i++) {
        while (j < b->row_count && b->rows[j].offset < a->rows[i].offset)
            j++;
        bool same = j < b->row_count && b->rows[j].offset == a->rows[i].offset;
        pair->to[i] = same ? j : CLP_ALIGN_NONE;
    }
}

static bool is_in_text(const struct clp_diff_side_function *function, size_t place)
{
    return place >= function->text_start &&
           place - function->text_start < function->text_count;
}

/* Returns the number by which two rows are equal: a hash of the text. For rows outside of the text it is a hash of
 * their distance from the text's beginning or end. */
static uint64_t key_of(const struct clp_diff_side_function *function, size_t place)
{
    int64_t distance = function->rows[place].offset;

    if (is_in_text(function, place))
        return clp_diff_side_hash_line(function->rows[place].text);
    if (distance >= 0)
        distance -= (int64_t)function->text_count;
    return clp_hash_text(1, (const char *)&distance, sizeof distance);
}

static uint64_t *keys_of(struct clp_mem *mem, const struct clp_diff_side_function *function)
{
    uint64_t *keys = clp_mem_alloc(mem, function->row_count, sizeof *keys);

    for (size_t i = 0; keys != NULL && i < function->row_count; i++)
        keys[i] = key_of(function, i);
    return keys;
}

#define EDITED_WITHIN 8 /* new lines that are compared with one old line */

/* Matches the old rows [start, end) with similar rows among the new rows [next, limit), in order. */
static void match_edited(const struct pair *pair, size_t start, size_t end, size_t next,
                         size_t limit)
{
    const struct clp_diff_side_function *a = pair->functions[CLP_OLD], *b = pair->functions[CLP_NEW];

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
    const struct clp_diff_side_function *a = pair->functions[CLP_OLD], *b = pair->functions[CLP_NEW];
    uint64_t *a_keys = keys_of(work->mem, a), *b_keys = keys_of(work->mem, b);
    clp_status status = CLP_NO_MEMORY;

    if (a_keys != NULL && b_keys != NULL)
        status = clp_align_items(&work->align, a_keys, a->row_count, b_keys, b->row_count,
                                 pair->to);
    if (status == CLP_OK)
        match_edited_rows(pair);
    clp_mem_free(work->mem, a_keys, a->row_count, sizeof *a_keys);
    clp_mem_free(work->mem, b_keys, b->row_count, sizeof *b_keys);
    return status;
}

static clp_status compare_rows_of(struct work *work, struct pair *pair)
{
    const struct clp_diff_side_function *a = pair->functions[CLP_OLD], *b = pair->functions[CLP_NEW];
    size_t count = row_count(a);
    clp_status status = CLP_OK;

    pair->to = clp_mem_alloc(work->mem, count, sizeof *pair->to);
    if (pair->to == NULL && count != 0)
        return CLP_NO_MEMORY;
    for (size_t i = 0; b == NULL && i < count; i++)
        pair->to[i] = CLP_ALIGN_NONE;
    if (a != NULL && b != NULL && clp_diff_side_have_texts(a->base, b->base) &&
        !clp_diff_side_have_same_text(a->base, b->base))
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
    struct pair pair = {.sides = {&comparison->sides[CLP_OLD], &comparison->sides[CLP_NEW]}};

    for (int side = 0; side < 2; side++) {
        if (places[side] == CLP_ALIGN_NONE)
            continue;
        pair.functions[side] = &pair.sides[side]->functions[places[side]];
        out->sides[side] = pair.functions[side]->base;
        out->samples.sides[side] =
            &pair.sides[side]->total_samples[places[side] * pair.sides[side]->files];
    }
    clp_status status = compare_rows_of(work, &pair);
    out->rows = comparison->rows + start;
    out->row_count = comparison->row_count - start;
    return status;
}

/* ---- the whole ---- */

static clp_status take_comparison(struct clp_comparison *comparison)
{
    for (int i = 0; i < 2; i++) {
        const struct clp_diff_side *side = &comparison->sides[i];
        comparison->function_room += side->function_count;
        for (size_t j = 0; j < side->function_count; j++)
            comparison->row_room += side->functions[j].row_count;
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
                                                    const struct clp_diff_side *side)
{
    const struct clp_profile_function **bases =
        clp_mem_alloc(mem, side->function_count, sizeof *bases);

    for (size_t i = 0; bases != NULL && i < side->function_count; i++)
        bases[i] = side->functions[i].base;
    return bases;
}

/* Compares each function of the new side with its match on the old side, then adds the old functions without a
 * match. */
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
    const struct clp_diff_side *a = &work->comparison->sides[CLP_OLD];
    const struct clp_diff_side *b = &work->comparison->sides[CLP_NEW];
    const struct clp_profile_function **a_bases = bases_of(work->mem, a);
    const struct clp_profile_function **b_bases = bases_of(work->mem, b);
    size_t *to = clp_mem_alloc(work->mem, a->function_count, sizeof *to);
    clp_status status = CLP_NO_MEMORY;

    bool have_old = a->function_count == 0 || (a_bases != NULL && to != NULL);
    if (have_old && (b_bases != NULL || b->function_count == 0))
        status = clp_match_functions(&work->align, a_bases, a->function_count, b_bases,
                                     b->function_count, work->comparison->options.renamed, to);
    if (status == CLP_OK)
        status = compare_matched(work, to, a->function_count, b->function_count);
    clp_mem_free(work->mem, a_bases, a->function_count, sizeof *a_bases);
    clp_mem_free(work->mem, b_bases, b->function_count, sizeof *b_bases);
    clp_mem_free(work->mem, to, a->function_count, sizeof *to);
    return status;
}

/* Does the profile have measures of time besides the time itself? In a profile of another tool that knows only hits
 * and times all other measures are zero. */
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
    for (unsigned i = 0; i < CLP_MEASURES; i++) {
        enum clp_measure measure = (enum clp_measure)i;
        bool always = measure == CLP_MEASURE_time || measure == CLP_MEASURE_hits ||
                      measure == CLP_MEASURE_total;
        bool known = true;
        for (size_t j = 0; j < profiles->count && known && !always; j++)
            known = clp_measure_rows[i].needs == CLP_NEEDS_TIMES
                        ? knows_more_than_time(&profiles->profiles[j])
                        : clp_profile_lacks(&profiles->profiles[j].meta, measure) == NULL;
        comparison->known[side][i] = known;
    }
}

struct clp_compare_options clp_compare_defaults(void)
{
    return (struct clp_compare_options){
        .time_floor = 1e6,
        .hit_floor = 50,
        .bytes_floor = 64 * 1024,
        .measures = {{CLP_MEASURE_time, CLP_MEASURE_increment}, 2},
    };
}

/* Reads one amount, sets the floor that it is for, and moves *at behind it. Returns false where there is none. */
static bool set_one_floor(struct clp_compare_options *options, const char **at)
{
    double amount;

    if (!clp_amount_read(at, &amount))
        return false;
    size_t bytes = strcspn(*at, ",/");
    double nanos = amount * clp_amount_unit(CLP_MEASURE_NANOS, *at, bytes);
    double memory = amount * clp_amount_unit(CLP_MEASURE_BYTES, *at, bytes);
    bool none = bytes == 0 && amount == 0, is_time = none, is_memory = none, by_hit = false;
    is_time |= clp_amount_unit(CLP_MEASURE_NANOS, *at, bytes) != 0;
    is_memory |= clp_amount_unit(CLP_MEASURE_BYTES, *at, bytes) != 0;
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
        status = clp_diff_side_make(&comparison->sides[side], &work.align, sides[side].profiles,
                                    sides[side].count);
        comparison->lost += comparison->sides[side].lost;
    }
    if (status == CLP_OK)
        status = take_comparison(comparison);
    if (status == CLP_OK)
        status = compare_stores(&work);
    if (status == CLP_OK)
        status = clp_comparison_test(comparison);
    if (status == CLP_OK)
        clp_comparison_judge(comparison);
    if (status == CLP_OK)
        status = clp_comparison_add_calls(comparison);
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
    clp_comparison_clear_calls(comparison);
    for (int side = 0; side < 2; side++) {
        clp_mem_free(mem, comparison->values[side], comparison->file_counts[side], sizeof *comparison->values[side]);
        clp_diff_side_clear(&comparison->sides[side], mem);
    }
    *comparison = (struct clp_comparison){.mem = mem};
}

char clp_comparison_mark(const struct clp_compared_function *function, const struct clp_compared_row *row)
{
    const struct clp_profile_function *const *sides = function->sides;
    bool both = sides[CLP_OLD] != NULL && sides[CLP_NEW] != NULL;

    if (both && (sides[CLP_OLD]->source == NULL || sides[CLP_NEW]->source == NULL))
        return ' ';
    if (!row->has[CLP_OLD])
        return '+';
    if (!row->has[CLP_NEW])
        return '-';
    return row->edited ? '~' : ' ';
}
