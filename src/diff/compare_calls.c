/* SPDX-License-Identifier: MIT */
#include "compare_calls.h"
#include "report/call_table.h"
#include "verdict.h"
#include <math.h>
#include <stdlib.h>

#define NOWHERE SIZE_MAX

/* An edge in one profile. Functions and rows are places in the comparison. */
struct found {
    size_t callee, caller, row; /* caller and its row may be NOWHERE */
    int side;
    size_t file;
    struct clp_measures *measures; /* hits are calls */
};

struct work {
    struct clp_comparison *comparison;
    struct found *items; /* the edges of all profiles */
    size_t count, room;
};

/* A profile, and for each of its functions the place in the comparison. */
struct source {
    const struct clp_profile *profile;
    int side;
    size_t file;
    size_t *places;
};

/* ---- the edges of all profiles ---- */

/* Returns the function in the source's profile; NULL: the profile lacks it. */
static const struct clp_profile_function *member_of(const struct clp_comparison *comparison,
                                                    const struct source *source, size_t place)
{
    const struct clp_diff_side *side = &comparison->sides[source->side];
    const struct clp_measures *const *samples = comparison->functions[place].samples.sides[source->side];

    return samples != NULL ? side->members[(size_t)(samples - side->total_samples) + source->file] : NULL;
}

static clp_status find_places(const struct clp_comparison *comparison, struct source *source)
{
    size_t count = source->profile->function_count;

    source->places = clp_mem_alloc(comparison->mem, count, sizeof *source->places);
    if (source->places == NULL && count != 0)
        return CLP_NO_MEMORY;
    for (size_t i = 0; i < comparison->function_count; i++) {
        const struct clp_profile_function *member = member_of(comparison, source, i);
        if (member != NULL)
            source->places[member - source->profile->functions] = i;
    }
    return CLP_OK;
}

/* Returns the row of a line of the caller; NOWHERE: it has none. */
static size_t find_row(const struct clp_comparison *comparison, const struct source *source, size_t caller,
                       int32_t line)
{
    const struct clp_compared_function *function = &comparison->functions[caller];
    const struct clp_profile_function *member = member_of(comparison, source, caller);
    size_t at = 0;

    while (at < member->line_count && member->lines[at].line != line)
        at++;
    for (size_t i = 0; at < member->line_count && i < function->row_count; i++) {
        const struct clp_measures *const *samples = function->rows[i].samples.sides[source->side];
        if (samples != NULL && samples[source->file] == &member->lines[at].measures)
            return i;
    }
    return NOWHERE;
}

static void add_edge(struct work *work, const struct source *source, const struct clp_call_edge *edge)
{
    const struct clp_comparison *comparison = work->comparison;
    struct clp_measures *measures = &comparison->calls.measures[work->count];
    struct found *found = &work->items[work->count];

    if (edge->callee == CLP_CALL_DEEPER)
        return;
    *measures = (struct clp_measures){.hits = edge->calls, .time = edge->time};
    if (edge->increment > 0)
        measures->grown = (uint64_t)edge->increment;
    else
        measures->released = -(uint64_t)edge->increment;
    *found = (struct found){source->places[edge->callee], NOWHERE, NOWHERE, source->side, source->file, measures};
    if (edge->caller != CLP_CALL_DEEPER) {
        found->caller = source->places[edge->caller];
        found->row = find_row(comparison, source, found->caller, edge->line);
    }
    work->count++;
}

static clp_status add_profile(struct work *work, struct source source)
{
    struct clp_mem *mem = work->comparison->mem;
    struct clp_call_edge *edges = NULL;
    size_t count = 0;
    clp_status status = find_places(work->comparison, &source);

    if (status == CLP_OK)
        status = clp_call_edges(source.profile, &edges, &count);
    for (size_t i = 0; status == CLP_OK && i < count; i++)
        add_edge(work, &source, &edges[i]);
    clp_mem_free(source.profile->mem, edges, count, sizeof *edges);
    clp_mem_free(mem, source.places, source.profile->function_count, sizeof *source.places);
    return status;
}

static void count_edges(struct work *work)
{
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < work->comparison->sides[side].files; i++)
            work->room += work->comparison->sides[side].profiles[i].call_count;
}

static clp_status take_room(struct work *work)
{
    struct clp_comparison *comparison = work->comparison;

    comparison->calls.room = work->room;
    comparison->calls.measures = clp_mem_alloc(comparison->mem, work->room, sizeof *comparison->calls.measures);
    comparison->calls.items = clp_mem_alloc(comparison->mem, work->room, sizeof *comparison->calls.items);
    work->items = clp_mem_alloc(comparison->mem, work->room, sizeof *work->items);
    if (comparison->calls.measures == NULL || comparison->calls.items == NULL || work->items == NULL)
        return CLP_NO_MEMORY;
    return CLP_OK;
}

static clp_status gather(struct work *work)
{
    clp_status status = take_room(work);

    for (int side = 0; side < 2; side++) {
        const struct clp_diff_side *from = &work->comparison->sides[side];
        for (size_t i = 0; i < from->files && status == CLP_OK; i++)
            status = add_profile(work, (struct source){&from->profiles[i], side, i, NULL});
    }
    return status;
}

/* ---- matched ---- */

/* Compares the keys of two edges. */
static int compare_found(const void *left, const void *right)
{
    const struct found *a = left, *b = right;

    if (a->callee != b->callee)
        return a->callee < b->callee ? -1 : 1;
    if (a->caller != b->caller)
        return a->caller < b->caller ? -1 : 1;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return 0;
}

static size_t file_count(const struct clp_comparison *comparison)
{
    return comparison->file_counts[CLP_OLD] + comparison->file_counts[CLP_NEW];
}

static void begin_call(struct clp_comparison *comparison, const struct found *found)
{
    const struct clp_measures **samples = &comparison->calls.samples[comparison->calls.count * file_count(comparison)];
    struct clp_compared_function *callee = &comparison->functions[found->callee];
    struct clp_compared_call *call = &comparison->calls.items[comparison->calls.count++];

    if (callee->call_count++ == 0)
        callee->calls = call;
    *call = (struct clp_compared_call){
        .samples.sides = {samples, samples + comparison->file_counts[CLP_OLD]},
    };
    if (found->caller != NOWHERE)
        call->caller = &comparison->functions[found->caller];
    if (found->row != NOWHERE)
        call->row = &call->caller->rows[found->row];
}

/* Adds the edge to the newest call. Edges that differ only in whether code that is not selected lies between add up. */
static void add_sample(const struct clp_comparison *comparison, const struct found *found)
{
    size_t place = (comparison->calls.count - 1) * file_count(comparison) + found->file;

    if (found->side == CLP_NEW)
        place += comparison->file_counts[CLP_OLD];
    if (comparison->calls.samples[place] != NULL)
        clp_measures_merge(found->measures, comparison->calls.samples[place]);
    comparison->calls.samples[place] = found->measures;
}

static clp_status match(struct work *work)
{
    struct clp_comparison *comparison = work->comparison;

    qsort(work->items, work->count, sizeof *work->items, compare_found);
    for (size_t i = 0; i < work->count; i++)
        comparison->calls.keys += i == 0 || compare_found(&work->items[i - 1], &work->items[i]) != 0;
    comparison->calls.samples =
        clp_mem_alloc(comparison->mem, comparison->calls.keys * file_count(comparison),
                      sizeof *comparison->calls.samples);
    if (comparison->calls.samples == NULL)
        return CLP_NO_MEMORY;
    for (size_t i = 0; i < work->count; i++) {
        if (i == 0 || compare_found(&work->items[i - 1], &work->items[i]) != 0)
            begin_call(comparison, &work->items[i]);
        add_sample(comparison, &work->items[i]);
    }
    return CLP_OK;
}

/* ---- judged ---- */

/* Sorts the largest changes of time first. */
static int compare_weights(const void *left, const void *right)
{
    const struct clp_compared_call *a = left, *b = right;

    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return a->samples.sides[CLP_OLD] < b->samples.sides[CLP_OLD] ? -1 : 1;
}

/* A call explains a change of a function that both sides have if there are more or fewer of it, or if it took more or
 * less time than before and there are others. */
static void judge(const struct clp_comparison *comparison, struct clp_compared_function *function)
{
    bool both = function->sides[CLP_OLD] != NULL && function->sides[CLP_NEW] != NULL;

    for (size_t i = 0; i < function->call_count; i++) {
        struct clp_compared_call *call = &function->calls[i];
        struct clp_change time = clp_comparison_change(comparison, &call->samples, CLP_MEASURE_time);
        call->weight = fabs(time.change);
        call->explains = both && ((time.changed && function->call_count > 1) ||
                                  clp_comparison_change(comparison, &call->samples, CLP_MEASURE_hits).changed);
    }
    if (function->call_count > 1)
        qsort(function->calls, function->call_count, sizeof *function->calls, compare_weights);
}

/* Does a profile of the side have no calls, as those of older versions have none? */
static bool lacks_calls(const struct clp_diff_side *side)
{
    bool lacks = false;

    for (size_t i = 0; i < side->files; i++)
        lacks |= side->profiles[i].call_count == 0 && side->profiles[i].function_count != 0;
    return lacks;
}

clp_status clp_comparison_add_calls(struct clp_comparison *comparison)
{
    bool lack[2] = {lacks_calls(&comparison->sides[CLP_OLD]), lacks_calls(&comparison->sides[CLP_NEW])};
    struct work work = {.comparison = comparison};

    comparison->calls.missing = lack[CLP_OLD] != lack[CLP_NEW];
    count_edges(&work);
    if (lack[CLP_OLD] || lack[CLP_NEW] || work.room == 0)
        return CLP_OK;
    clp_status status = gather(&work);
    if (status == CLP_OK)
        status = match(&work);
    for (size_t i = 0; status == CLP_OK && i < comparison->function_count; i++)
        judge(comparison, &comparison->functions[i]);
    clp_mem_free(comparison->mem, work.items, work.room, sizeof *work.items);
    return status;
}

void clp_comparison_clear_calls(struct clp_comparison *comparison)
{
    struct clp_compared_calls *calls = &comparison->calls;

    clp_mem_free(comparison->mem, calls->items, calls->room, sizeof *calls->items);
    clp_mem_free(comparison->mem, calls->measures, calls->room, sizeof *calls->measures);
    clp_mem_free(comparison->mem, calls->samples, calls->keys * file_count(comparison), sizeof *calls->samples);
}
