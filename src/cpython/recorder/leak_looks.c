/* SPDX-License-Identifier: MIT */
#include "leak_looks.h"
#include "cpython/memory/holders.h"
#include "formats/live/live_leaks.h"
#include "heap/heap_results.h"
#include "os/arena.h"
#include "heap_table.h"
#include "own_work.h"
#include <string.h>

#define FREE_NANOS 30000000.0 /* which looks may take in any case */
#define BUDGET 50             /* one part in so many of the time that passes is for looks */
#define STEP_NANOS 100        /* a reference that is followed takes about so long */
#define LEAST_STEPS 20000
#define LAST_STEPS 300000 /* where the program ends */

static double nanos_of(const struct clp_recorder *recorder, uint64_t ticks)
{
    return (double)ticks * recorder->clock.rough_nanos;
}

/* The nanoseconds that are left for looks; negative: more were used. */
static double budget_left(const struct clp_recorder *recorder)
{
    double passed = nanos_of(recorder, clp_clock_read(&recorder->clock) - recorder->looks.start);

    return FREE_NANOS + passed / BUDGET - nanos_of(recorder, recorder->looks.used);
}

/* How many references may be followed. */
static size_t steps_for(double nanos, bool ends)
{
    double steps = nanos / STEP_NANOS, least = ends ? LAST_STEPS : nanos > 0 ? LEAST_STEPS : 0;

    return (size_t)(steps < least ? least : steps > CLP_HOLDERS_STEPS ? CLP_HOLDERS_STEPS : steps);
}

/* Takes the leaks out of the profile into *list, which has room for them, with the numbers of their functions. */
static void list_leaks(const struct clp_heap *heap, const struct clp_profile *profile, struct clp_live_leak *list)
{
    size_t count = 0;

    for (size_t i = 0; i < profile->function_count; i++)
        for (size_t j = 0; j < profile->functions[i].leak_count; j++, count++)
            list[count] = (struct clp_live_leak){.function = heap->owners[profile->functions[i].leaks[j].owner]->function,
                                                 .leak = &profile->functions[i].leaks[j]};
}

/* Is it time to search for holders? If all are known, only after twice the progress. */
static bool is_time_to_search(const struct clp_recorder *recorder, const struct clp_profile *profile)
{
    return recorder->heap->progress / 2 >= recorder->looks.searched || !clp_holders_known(recorder->heap, profile);
}

/* `left` is the budget, in nanoseconds. */
static void look(struct clp_recorder *recorder, struct clp_profile *profile, double left, bool ends)
{
    const struct clp_heap_scope scope = {.functions = &recorder->engine.functions};
    uint64_t passed = clp_clock_read(&recorder->clock) - recorder->looks.start;
    const struct clp_heap_judging judging = {.warmups = recorder->epochs.warmups, .limit = recorder->epochs.limit,
                                             .seconds = nanos_of(recorder, passed) * 1e-9};

    if (clp_heap_judge(recorder->heap, &scope, &judging, profile) != CLP_OK)
        return;
    size_t count = clp_profile_count_leaks(profile);
    struct clp_live_leak *list = clp_mem_alloc(profile->mem, count + 1, sizeof *list);
    if (list == NULL)
        return;
    list_leaks(recorder->heap, profile, list);
    char seconds[CLP_EPOCH_SECONDS];
    size_t steps = ends || is_time_to_search(recorder, profile) ? steps_for(left, ends) : 0;
    if (count != 0 && steps != 0)
        recorder->looks.searched = recorder->heap->progress;
    if (clp_holders_find(recorder->heap, steps, profile) == CLP_OK)
        clp_live_note_leaks(&recorder->live, list, count, clp_heap_table_epoch(recorder, seconds),
                            profile->meta.leak_epochs);
    clp_mem_free(profile->mem, list, count + 1, sizeof *list);
}

void clp_leak_looks_look(struct clp_recorder *recorder, bool ends)
{
    double left = budget_left(recorder);
    struct clp_pages pages = {0}; /* given back at once, so that the process does not grow */
    struct clp_arena arena;
    struct clp_profile profile;

    recorder->epochs.due = false;
    if (left <= 0 && !ends && recorder->heap->progress / 2 < recorder->looks.looked)
        return;
    recorder->looks.looked = recorder->heap->progress;
    struct clp_own_work work = clp_own_work_begin(recorder);
    clp_arena_init(&arena, &pages);
    clp_profile_init(&profile, &arena.mem);
    look(recorder, &profile, left, ends);
    clp_profile_clear(&profile);
    clp_arena_clear(&arena);
    recorder->looks.used += clp_own_work_end(recorder, work);
}

void clp_leak_looks_end(struct clp_recorder *recorder)
{
    if (recorder->with_heap == 0 || recorder->epochs.kind == CLP_EPOCHS_NONE)
        return;
    bool marked = clp_heap_mark(recorder->heap, CLP_HEAP_ENDED);
    bool counts_only = (recorder->engine.parts & CLP_PART_LIGHT) != 0; /* marks are set all the time, and without a look */
    if (marked || (counts_only && recorder->looks.looked < recorder->heap->progress))
        clp_leak_looks_look(recorder, true);
}
