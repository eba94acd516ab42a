/* SPDX-License-Identifier: MIT */
#include "heap_results.h"
#include "profile/snapshot.h"
#include <math.h>
#include <string.h>

#define MOST_NAMED 10 /* functions that were not judged */

static uint64_t not_negative(int64_t value)
{
    return value > 0 ? (uint64_t)value : 0;
}

static int64_t at_peak(const struct clp_heap *heap, const struct clp_heap_line *line)
{
    return line->peak == heap->peak_number ? line->at_peak : line->live;
}

static bool is_blank(const struct clp_measures *measures)
{
    static const struct clp_measures none;

    return memcmp(measures, &none, sizeof none) == 0;
}

static uint64_t whole_blocks(uint64_t parts)
{
    return (parts + CLP_HEAP_ONE / 2) / CLP_HEAP_ONE;
}

static clp_status fill_function(const struct clp_heap *heap, const struct clp_heap_scope *scope, size_t number,
                                struct clp_profile *profile)
{
    const struct clp_functions *functions = scope->functions;
    const struct clp_heap_function *from = &heap->functions[number];
    struct clp_profile_function *into;
    clp_status status = clp_snapshot_function(&functions->items[number], NULL, profile, &into);

    for (uint32_t i = 0; i < from->line_count && status == CLP_OK; i++) {
        const struct clp_heap_line *line = &from->lines[i];
        struct clp_measures measures = {
            .live = not_negative(line->live),
            .live_blocks = not_negative((line->blocks + CLP_HEAP_ONE / 2) / CLP_HEAP_ONE),
            .heap_peak = not_negative(at_peak(heap, line)),
            .freed_in_line = line->freed_at_once,
            .native = line->native,
            .native_blocks = whole_blocks(line->native_blocks),
            .allocated = scope->allocated ? line->allocated : 0,
            .blocks = scope->allocated ? whole_blocks(line->allocated_blocks) : 0,
        };
        if (!is_blank(&measures))
            status = clp_profile_add_line(profile, into,
                                          functions->items[number].lines[i],
                                          &measures);
    }
    return status;
}

static bool is_in(const struct clp_heap_scope *scope, size_t function)
{
    return scope->view == NULL || clp_view_find(scope->view, (uint32_t)function) != NULL;
}

static bool has_lines(const struct clp_heap *heap, const struct clp_heap_scope *scope, size_t i)
{
    return i < scope->functions->count && heap->functions[i].lines != NULL && is_in(scope, i);
}

/* To this view, what functions of other views have is nobody's. */
static void add_others(const struct clp_heap *heap, const struct clp_heap_scope *scope,
                       struct clp_profile_meta *meta)
{
    for (size_t i = 0; i < heap->function_room; i++) {
        const struct clp_heap_function *function = &heap->functions[i];
        if (function->lines == NULL || is_in(scope, i))
            continue;
        for (uint32_t j = 0; j < function->line_count; j++) {
            meta->heap_unselected += not_negative(function->lines[j].live);
            meta->heap_unselected_peak += not_negative(at_peak(heap, &function->lines[j]));
        }
    }
}

static void fill_meta(const struct clp_heap *heap, struct clp_profile_meta *meta)
{
    meta->heap_interval = heap->interval;
    meta->heap_live = not_negative(heap->live);
    meta->heap_peak = not_negative(heap->peak);
    meta->heap_unselected = not_negative(heap->nobody.live);
    meta->heap_unselected_peak = not_negative(at_peak(heap, &heap->nobody));
}

clp_status clp_heap_fill(struct clp_heap *heap, const struct clp_heap_scope *scope,
                         struct clp_profile *profile)
{
    clp_status status = CLP_OK;

    if (!clp_lock_take(&heap->lock))
        return CLP_OK;
    for (size_t i = 0; i < heap->function_room && status == CLP_OK; i++)
        if (has_lines(heap, scope, i))
            status = fill_function(heap, scope, i, profile);
    fill_meta(heap, &profile->meta);
    add_others(heap, scope, &profile->meta);
    clp_lock_give(&heap->lock);
    return status;
}

/* ---- verdicts ---- */

/* The clock of the line's epochs and what was alive at their ends. */
struct past {
    const struct clp_heap_clock *clock;
    const int64_t *live;
    bool by_runs;
};

static struct past past_of(const struct clp_heap *heap, const struct clp_heap_line *line)
{
    const struct clp_heap_runs *runs = line->trail->runs;
    const struct clp_heap_clock *clock = clp_heap_clock_of(heap, line);
    bool by_runs = runs != NULL && clock == &runs->clock;

    return (struct past){clock, by_runs ? runs->live : line->trail->live, by_runs};
}

static struct clp_leaks_rule rule_for(const struct clp_heap *heap,
                                      const struct clp_heap_judging *judging,
                                      const struct clp_heap_clock *clock)
{
    return (struct clp_leaks_rule){
        .warmups = judging->warmups < 0
                       ? clp_leaks_warmups(clock->epochs)
                       : ((size_t)judging->warmups + clock->stride - 1) / clock->stride,
        .limit = judging->limit >= 0 ? judging->limit : clp_leaks_limit(heap->peak),
    };
}

static size_t epochs_needed(const struct clp_leaks_rule *rule)
{
    return rule->warmups + CLP_LEAKS_LEAST_EPOCHS;
}

/* Functions that could not be judged: "main (1 call), load (2 calls)". */
struct unjudged {
    struct clp_buf names;
    size_t count;
};

/* Adds the block to the variance of its line's estimate: (1 - p) / p^2 of its bytes squared (Horvitz and Thompson). */
static void add_variance(void *data, struct clp_shadow_slot *slot)
{
    const struct clp_heap *heap = data;
    struct clp_heap_trail *trail = heap->owners[clp_heap_slot_owner(slot)]->trail;
    double bytes = (double)clp_heap_slot_bytes(slot);

    if (trail == NULL)
        return;
    double weight = (double)clp_heap_weight(heap, clp_heap_slot_bytes(slot), slot->level).bytes;
    trail->variance += weight * (weight - bytes);
}

/* Starts at 0, because a table may be judged several times. When the program is over, those at the mark stay. */
static void find_variances(struct clp_heap *heap)
{
    if (clp_heap_is_over(heap) && heap->weighed)
        return;
    heap->weighed = true;
    for (size_t i = 1; i < heap->owner_count; i++)
        if (heap->owners[i]->trail != NULL)
            heap->owners[i]->trail->variance = 0;
    clp_shadow_walk(&heap->shadow, add_variance, heap);
}

/* Has the line gone on to allocate? Where a function was called no more while twice as much happened as from its first
 * call to its last, it has loaded what is to stay. */
static bool goes_on(const struct clp_heap *heap, const struct past *past)
{
    uint64_t last = past->clock->began, first = past->clock->at[0], now = clp_heap_progress(heap);

    return heap->epochs == CLP_HEAP_BY_ONE || now <= last || now - last < 2 * (last - first);
}

/* The bytes that each execution of the line keeps, where its epochs are executions: only those count as epochs that
 * allocated a chosen block. */
static double per_execution(const struct clp_heap_runs *runs, double per_run)
{
    uint32_t executions = (runs->last - runs->first) & CLP_HEAP_EXECUTION;

    return executions > runs->clock.calls ? per_run * (double)runs->clock.calls / executions : per_run;
}

/* *leak is filled where the line leaks. */
static bool judge_line(const struct clp_heap *heap, const struct clp_heap_judging *judging,
                       const struct clp_heap_line *line, struct clp_profile_leak *leak)
{
    const struct clp_heap_trail *trail = line->trail;
    struct past past = past_of(heap, line);
    struct clp_leaks_rule rule = rule_for(heap, judging, past.clock);
    struct clp_leaks_line history = {past.live, past.clock->epochs, sqrt(trail->variance)};
    struct clp_leaks_thing thing = {trail->stretched_by, trail->lost_by, past.clock->epochs};
    struct clp_leaks_verdict verdict, thing_verdict;

    bool leaks = clp_leaks_judge(&history, &rule, &verdict);
    bool thing_leaks = !past.by_runs && clp_leaks_judge_thing(&thing, &rule, &thing_verdict);
    if (!(leaks || thing_leaks) || !goes_on(heap, &past))
        return false;
    if (!leaks || (thing_leaks && thing_verdict.growth > verdict.growth / 2)) /* of a thing the content counts */
        verdict = thing_verdict;
    leak->bytes = (uint64_t)verdict.growth;
    leak->margin = (uint64_t)verdict.margin;
    leak->bytes_per_call = verdict.slope / (double)past.clock->stride;
    if (past.by_runs)
        leak->bytes_per_call = per_execution(trail->runs, leak->bytes_per_call);
    leak->per_execution = past.by_runs;
    leak->bytes_per_second =
        judging->seconds > 0 ? (double)verdict.growth / judging->seconds : 0;
    leak->confidence = verdict.confidence;
    leak->at_end = line->live < clp_heap_alive(heap, line) - verdict.growth / 2;
    leak->owner = line->number;
    return true;
}

/* Has the line had enough epochs of its own? */
static bool is_judged(const struct clp_heap_line *line)
{
    const struct clp_heap_runs *runs = line->trail != NULL ? line->trail->runs : NULL;

    return runs != NULL && runs->clock.calls >= clp_leaks_needed(0);
}

static uint64_t hits_of(const struct clp_profile_function *function, int32_t line)
{
    for (size_t i = 0; i < function->line_count; i++)
        if (function->lines[i].line == line)
            return function->lines[i].measures.hits;
    return 0;
}

/* Does a line of the function that was not judged keep more than the limit? Lines of a module's body do not count that
 * ran less often than a verdict needs: the body runs only once, so what it imports and loads stays. */
static bool keeps_much(const struct clp_heap_function *from, const int32_t *lines,
                       const struct clp_profile_function *function, const struct clp_leaks_rule *rule)
{
    bool body = strcmp(function->name, "<module>") == 0;

    for (uint32_t i = 0; i < from->line_count; i++) {
        uint64_t hits = hits_of(function, lines[i]); /* with --threads hits are in functions of other names */
        if (from->lines[i].live > rule->limit && !is_judged(&from->lines[i]) &&
            !(body && hits != 0 && hits < epochs_needed(rule)))
            return true;
    }
    return false;
}

/* Names the function if it keeps much and had too few epochs of its own for a verdict. */
static void note_unjudged(const struct clp_heap *heap, const struct clp_heap_judging *judging, size_t number,
                          const int32_t *lines, const struct clp_profile_function *function, struct unjudged *unjudged)
{
    const struct clp_heap_clock *clock = &heap->functions[number].clock;
    struct clp_leaks_rule rule = rule_for(heap, judging, clock);
    unsigned long long calls = clock->calls;

    if (heap->epochs != CLP_HEAP_BY_CALLS || calls >= epochs_needed(&rule) * clock->stride ||
        !keeps_much(&heap->functions[number], lines, function, &rule) || unjudged->count++ > MOST_NAMED)
        return;
    clp_buf_add_text(&unjudged->names, unjudged->count > 1 ? ", " : "");
    if (unjudged->count <= MOST_NAMED)
        clp_buf_add_format(&unjudged->names, "%s (%llu call%s)", function->name, calls, clp_buf_plural(calls));
    else
        clp_buf_add_text(&unjudged->names, "..");
}

static clp_status judge_function(const struct clp_heap *heap,
                                 const struct clp_functions *functions,
                                 const struct clp_heap_judging *judging, size_t number,
                                 struct clp_profile *profile, struct unjudged *unjudged)
{
    const struct clp_heap_function *from = &heap->functions[number];
    struct clp_profile_function *into;
    clp_status status = clp_snapshot_function(&functions->items[number], NULL, profile, &into);

    for (uint32_t i = 0; i < from->line_count && status == CLP_OK; i++) {
        struct clp_profile_leak leak = {.line = functions->items[number].lines[i]};
        if (from->lines[i].trail != NULL &&
            judge_line(heap, judging, &from->lines[i], &leak))
            status = clp_profile_add_leak(profile, into, &leak);
    }
    if (status == CLP_OK)
        note_unjudged(heap, judging, number, functions->items[number].lines, into, unjudged);
    return status;
}

/* The most epochs that the function or a line of it had. */
static uint64_t epochs_of(const struct clp_heap_function *function)
{
    uint64_t most = function->clock.calls;

    for (uint32_t i = 0; function->lines != NULL && i < function->line_count; i++) {
        const struct clp_heap_trail *trail = function->lines[i].trail;
        if (trail != NULL && trail->runs != NULL && trail->runs->clock.calls > most)
            most = trail->runs->clock.calls;
    }
    return most;
}

/* Counts only functions of the scope. */
static uint64_t most_epochs(const struct clp_heap *heap, const struct clp_heap_scope *scope)
{
    uint64_t most = heap->clock.calls;

    for (size_t i = 0; i < heap->function_room && i < scope->functions->count; i++) {
        uint64_t epochs = is_in(scope, i) ? epochs_of(&heap->functions[i]) : 0;
        most = epochs > most ? epochs : most;
    }
    return most;
}

clp_status clp_heap_judge(struct clp_heap *heap, const struct clp_heap_scope *scope,
                          const struct clp_heap_judging *judging, struct clp_profile *profile)
{
    struct unjudged unjudged = {0};
    clp_status status = CLP_OK;

    if (heap->epochs == CLP_HEAP_NO_EPOCHS || !clp_lock_take(&heap->lock))
        return CLP_OK;
    clp_buf_init(&unjudged.names, profile->mem);
    profile->meta.leak_epochs = most_epochs(heap, scope);
    find_variances(heap);
    for (size_t i = 0; i < heap->function_room && status == CLP_OK; i++)
        if (has_lines(heap, scope, i))
            status = judge_function(heap, scope->functions, judging, i, profile, &unjudged);
    if (status == CLP_OK && unjudged.count != 0)
        status = clp_profile_set_text(profile, &profile->meta.leak_unjudged, clp_buf_text(&unjudged.names));
    clp_buf_clear(&unjudged.names);
    clp_lock_give(&heap->lock);
    return status;
}
