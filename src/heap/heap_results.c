/* SPDX-License-Identifier: MIT */
#include "heap_results.h"
#include "profile/snapshot.h"
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

static clp_status fill_function(const struct clp_heap *heap, const struct clp_functions *functions,
                                size_t number, struct clp_profile *profile)
{
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
            .native_blocks = (line->native_blocks + CLP_HEAP_ONE / 2) / CLP_HEAP_ONE,
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
            status = fill_function(heap, scope->functions, i, profile);
    fill_meta(heap, &profile->meta);
    add_others(heap, scope, &profile->meta);
    clp_lock_give(&heap->lock);
    return status;
}

/* ---- verdicts ---- */

static const struct clp_heap_clock *clock_of(const struct clp_heap *heap, size_t function)
{
    return heap->epochs == CLP_HEAP_BY_CALLS ? &heap->functions[function].clock : &heap->clock;
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

struct old_count {
    struct clp_heap *heap;
    const struct clp_heap_judging *judging;
};

/* Is the block old enough to say something, and not of the warm-up? */
static bool is_old(const struct old_count *count, uint32_t function, uint32_t born)
{
    const struct clp_heap_clock *clock = clock_of(count->heap, function);
    struct clp_leaks_rule rule = rule_for(count->heap, count->judging, clock);
    uint32_t now = (uint32_t)clock->calls;

    return born > rule.warmups * clock->stride && born <= now &&
           now - born >= CLP_LEAKS_OLD_EPOCHS * clock->stride;
}

static void count_if_old(void *data, const struct clp_shadow_slot *slot)
{
    const struct old_count *count = data;
    struct clp_heap *heap = count->heap;
    const struct clp_heap_line *line = heap->owners[clp_heap_slot_owner(slot)];

    if (line->trail == NULL || !is_old(count, line->function, slot->born))
        return;
    line->trail->old_alive +=
        (uint64_t)clp_heap_weight(heap, clp_heap_slot_bytes(slot)).blocks;
    line->trail->old_blocks++;
}

/* Counts each line's old blocks that are alive. Starts at 0, because a table may be judged several times. */
static void count_old(struct clp_heap *heap, const struct clp_heap_judging *judging)
{
    struct old_count count = {heap, judging};

    for (size_t i = 1; i < heap->owner_count; i++) {
        struct clp_heap_trail *trail = heap->owners[i]->trail;
        if (trail != NULL)
            trail->old_alive = trail->old_blocks = 0;
    }
    clp_shadow_walk(&heap->shadow, count_if_old, &count);
}

/* Turns a trail, whose ages are in calls, into epochs of clock->stride calls (a power of two). */
static struct clp_leaks_line look_back(const struct clp_heap *heap,
                                       const struct clp_heap_trail *trail,
                                       const struct clp_heap_clock *clock)
{
    struct clp_leaks_line line = {.live = trail->live,
                                  .sample = (int64_t)heap->interval,
                                  .epochs = clock->epochs,
                                  .old_alive = trail->old_alive,
                                  .old_blocks = trail->old_blocks};
    int class = 0;

    while (clock->stride >> class > 1)
        class++;
    for (; class < CLP_HEAP_AGES; class++) {
        line.old_dead += trail->dead[class];
        line.old_blocks += trail->deaths[class];
    }
    return line;
}

/* *leak is filled where the line leaks. */
static bool judge_line(const struct clp_heap *heap, const struct clp_heap_judging *judging,
                       const struct clp_heap_clock *clock, const struct clp_heap_line *line,
                       struct clp_profile_leak *leak)
{
    struct clp_leaks_rule rule = rule_for(heap, judging, clock);
    struct clp_leaks_line past = look_back(heap, line->trail, clock);
    struct clp_leaks_thing thing = {line->trail->stretched_by, line->trail->lost_by, clock->epochs};
    struct clp_leaks_verdict verdict;

    if (!clp_leaks_judge(&past, &rule, &verdict) && !clp_leaks_judge_thing(&thing, &rule, &verdict))
        return false;
    leak->bytes = (uint64_t)verdict.growth;
    leak->bytes_per_call = verdict.slope / (double)clock->stride;
    leak->bytes_per_second =
        judging->seconds > 0 ? (double)verdict.growth / judging->seconds : 0;
    leak->confidence = verdict.confidence;
    leak->owner = line->number;
    return true;
}

/* Does a line of the function keep more than the limit? Lines of a module's body do not count that ran less often than
 * a verdict needs: the body runs only once, so what it imports and loads stays. */
static bool keeps_much(const struct clp_profile_function *function, const struct clp_leaks_rule *rule)
{
    bool body = strcmp(function->name, "<module>") == 0;

    for (size_t i = 0; i < function->line_count; i++) {
        const struct clp_measures *measures = &function->lines[i].measures;
        bool ran = measures->hits != 0; /* with --threads hits are in functions of other names */
        if ((int64_t)measures->live > rule->limit && !(body && ran && measures->hits < epochs_needed(rule)))
            return true;
    }
    return false;
}

/* Names the function if it keeps much and had too few epochs of its own for a verdict. */
static void note_unjudged(const struct clp_heap *heap, const struct clp_heap_judging *judging, size_t number,
                          const struct clp_profile_function *function, struct unjudged *unjudged)
{
    const struct clp_heap_clock *clock = &heap->functions[number].clock;
    struct clp_leaks_rule rule = rule_for(heap, judging, clock);
    unsigned long long calls = clock->calls;

    if (heap->epochs != CLP_HEAP_BY_CALLS || calls >= epochs_needed(&rule) * clock->stride ||
        !keeps_much(function, &rule) || unjudged->count++ > MOST_NAMED)
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
            judge_line(heap, judging, clock_of(heap, number), &from->lines[i], &leak))
            status = clp_profile_add_leak(profile, into, &leak);
    }
    if (status == CLP_OK)
        note_unjudged(heap, judging, number, into, unjudged);
    return status;
}

/* Counts only functions of the scope. */
static uint64_t most_epochs(const struct clp_heap *heap, const struct clp_heap_scope *scope)
{
    uint64_t most = heap->clock.calls;

    for (size_t i = 0; i < heap->function_room && i < scope->functions->count; i++)
        if (is_in(scope, i) && heap->functions[i].clock.calls > most)
            most = heap->functions[i].clock.calls;
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
    count_old(heap, judging);
    for (size_t i = 0; i < heap->function_room && status == CLP_OK; i++)
        if (has_lines(heap, scope, i))
            status = judge_function(heap, scope->functions, judging, i, profile, &unjudged);
    if (status == CLP_OK && unjudged.count != 0)
        status = clp_profile_set_text(profile, &profile->meta.leak_unjudged, clp_buf_text(&unjudged.names));
    clp_buf_clear(&unjudged.names);
    clp_lock_give(&heap->lock);
    return status;
}
