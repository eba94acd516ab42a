/* SPDX-License-Identifier: MIT */
/* What several unit tests need: an allocator that checks the sizes it is told, counts its blocks
 * and can be made to fail, an event, and comparisons of whole profiles. */
#ifndef CLP_TEST_HELPERS_H
#define CLP_TEST_HELPERS_H

#include "engine/engine.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "engine/threads.h"
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct test_mem {
    struct clp_mem mem;
    size_t calls;   /* that asked for memory */
    size_t fail_at; /* the call that fails, counted from 1; 0: none */
    size_t blocks;  /* held now */
};

union test_block {
    size_t bytes;
    max_align_t align;
};

static inline void *test_mem_resize(void *context, void *block, size_t old_bytes, size_t new_bytes)
{
    struct test_mem *test = context;
    union test_block *head = block == NULL ? NULL : (union test_block *)block - 1;

    cr_assert_eq(head == NULL ? 0 : head->bytes, old_bytes, "a block's size was told wrong");
    if (new_bytes == 0) {
        test->blocks -= head != NULL;
        free(head);
        return NULL;
    }
    if (++test->calls == test->fail_at)
        return NULL;
    union test_block *moved = malloc(sizeof *moved + new_bytes); /* always moves, so that a */
    cr_assert_not_null(moved);                                   /* stale pointer is noticed */
    moved->bytes = new_bytes;
    if (head != NULL)
        memcpy(moved + 1, head + 1, old_bytes < new_bytes ? old_bytes : new_bytes);
    test->blocks += head == NULL;
    free(head);
    return moved + 1;
}

/* Sets up an allocator whose call number fail_at fails. `test` must not move afterwards. */
static inline struct clp_mem *test_mem_init(struct test_mem *test, size_t fail_at)
{
    *test = (struct test_mem){.fail_at = fail_at};
    test->mem.resize = test_mem_resize;
    test->mem.context = test;
    return &test->mem;
}

/* Did the call that was to fail happen? When not, a sweep over fail_at is at its end. */
static inline bool test_mem_failed(const struct test_mem *test)
{
    return test->fail_at != 0 && test->calls >= test->fail_at;
}

static inline void test_mem_check_empty(const struct test_mem *test)
{
    cr_assert_eq(test->blocks, 0, "%zu blocks were not freed", test->blocks);
    cr_assert_eq(test->mem.bytes, 0, "%zu bytes are still counted", test->mem.bytes);
}

/* A body of the function begins, and in it at once this line. */
static inline void test_enter_line(struct clp_thread *thread, uint32_t function, const void *frame,
                                   int32_t line, uint64_t now)
{
    if (clp_engine_enter(thread, function, frame, now) != NULL)
        clp_engine_line(thread, line, now);
}

static inline bool test_same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static inline bool test_same_measures(const struct clp_measures *a, const struct clp_measures *b)
{
    bool same = true;
#define SAME(name, ...) same = same && a->name == b->name;
    CLP_MEASURE_TABLE(SAME, CLP_MEASURE_SKIP)
#undef SAME
    return same;
}

static inline bool test_same_function(const struct clp_profile_function *a,
                                      const struct clp_profile_function *b)
{
    bool same = test_same_text(a->file, b->file) && test_same_text(a->name, b->name) &&
                test_same_text(a->compiler, b->compiler) && a->first_line == b->first_line &&
                a->total == b->total &&
                a->raw_total == b->raw_total && a->line_count == b->line_count &&
                a->source_bytes == b->source_bytes && (a->source == NULL) == (b->source == NULL) &&
                a->source_changed == b->source_changed && a->compiled.calls == b->compiled.calls &&
                a->compiled.times == b->compiled.times && a->compiled.nanos == b->compiled.nanos;

    for (size_t i = 0; same && i < a->line_count; i++)
        same = a->lines[i].line == b->lines[i].line &&
               test_same_measures(&a->lines[i].measures, &b->lines[i].measures);
    same = same && a->missed_count == b->missed_count &&
           (a->missed_count == 0 || memcmp(a->missed, b->missed, a->missed_count * sizeof *a->missed) == 0);
    same = same && a->leak_count == b->leak_count;
    for (size_t i = 0; same && i < a->leak_count; i++)
        same = a->leaks[i].line == b->leaks[i].line && a->leaks[i].bytes == b->leaks[i].bytes &&
               a->leaks[i].bytes_per_call == b->leaks[i].bytes_per_call &&
               a->leaks[i].bytes_per_second == b->leaks[i].bytes_per_second &&
               a->leaks[i].confidence == b->leaks[i].confidence && a->leaks[i].margin == b->leaks[i].margin &&
               a->leaks[i].per_execution == b->leaks[i].per_execution && a->leaks[i].at_end == b->leaks[i].at_end &&
               test_same_text(a->leaks[i].held_by, b->leaks[i].held_by);
    same = same && a->callee_count == b->callee_count;
    for (size_t i = 0; same && i < a->callee_count; i++)
        same = a->callees[i].line == b->callees[i].line && a->callees[i].library == b->callees[i].library &&
               a->callees[i].time == b->callees[i].time && test_same_text(a->callees[i].name, b->callees[i].name);
    return same && (a->source == NULL || memcmp(a->source, b->source, a->source_bytes) == 0);
}

static inline bool test_same_meta(const struct clp_profile_meta *a,
                                  const struct clp_profile_meta *b)
{
    return test_same_text(a->python, b->python) && test_same_text(a->tracer, b->tracer) &&
           test_same_text(a->command, b->command) && test_same_text(a->memory, b->memory) &&
           a->others_grown == b->others_grown && a->others_released == b->others_released &&
           a->gc_outside == b->gc_outside && a->gc_outside_runs == b->gc_outside_runs &&
           a->gc_cleared == b->gc_cleared && a->has_cpu == b->has_cpu && a->has_queue == b->has_queue && a->has_called == b->has_called &&
           a->has_io == b->has_io && a->has_faults == b->has_faults && a->has_switches == b->has_switches &&
           a->tensors_read == b->tensors_read && a->has_device_time == b->has_device_time &&
           a->outside_device_time == b->outside_device_time &&
           a->outside_launches == b->outside_launches && a->lost_launches == b->lost_launches && test_same_text(a->device1, b->device1) &&
           test_same_text(a->device2, b->device2) && test_same_text(a->device3, b->device3) &&
           test_same_text(a->device4, b->device4) &&
           test_same_text(a->counter1, b->counter1) && test_same_text(a->counter2, b->counter2) &&
           test_same_text(a->counter3, b->counter3) && test_same_text(a->counter4, b->counter4) &&
           a->pid == b->pid && a->start == b->start && a->pid_namespace == b->pid_namespace &&
           test_same_text(a->host, b->host) && test_same_text(a->boot, b->boot) &&
           test_same_text(a->rank, b->rank) && a->restart == b->restart &&
           a->wall == b->wall && a->overhead == b->overhead &&
           a->overhead_error == b->overhead_error && a->events == b->events &&
           a->reads == b->reads && a->own_bytes == b->own_bytes &&
           a->has_memory == b->has_memory && a->inexact_memory == b->inexact_memory &&
           a->memory_step == b->memory_step && a->no_source == b->no_source &&
           test_same_text(a->leak_epoch, b->leak_epoch) && a->leak_epochs == b->leak_epochs &&
           test_same_text(a->leak_unjudged, b->leak_unjudged);
}

static inline bool test_same_series(const struct clp_profile_series *a,
                                    const struct clp_profile_series *b)
{
    bool same = a->pid == b->pid && a->start == b->start && a->count == b->count;

    for (size_t i = 0; same && i < a->count; i++)
        same = a->time[i] == b->time[i] && a->rss[i] == b->rss[i];
    same = same && a->mark_count == b->mark_count;
    for (size_t i = 0; same && i < a->mark_count; i++)
        same = test_same_text(a->marks[i].file, b->marks[i].file) &&
               test_same_text(a->marks[i].name, b->marks[i].name) &&
               a->marks[i].first_line == b->marks[i].first_line &&
               a->marks[i].level == b->marks[i].level && a->marks[i].enter == b->marks[i].enter &&
               a->marks[i].leave == b->marks[i].leave;
    return same;
}

static inline bool test_same_process(const struct clp_profile_process *a,
                                     const struct clp_profile_process *b)
{
    return a->pid == b->pid && a->parent == b->parent && a->start == b->start &&
           a->wall == b->wall && a->self == b->self && a->events == b->events &&
           a->pid_namespace == b->pid_namespace && test_same_text(a->host, b->host) &&
           test_same_text(a->boot, b->boot) && test_same_text(a->rank, b->rank) && a->restart == b->restart &&
           test_same_text(a->name, b->name) && a->numbers_bytes == b->numbers_bytes &&
           (a->numbers_bytes == 0 || memcmp(a->numbers, b->numbers, a->numbers_bytes) == 0);
}

static inline bool test_same_call(const struct clp_profile_call *a, const struct clp_profile_call *b)
{
    return a->parent == b->parent && a->line == b->line && a->function == b->function &&
           a->through == b->through && a->calls == b->calls && a->time == b->time &&
           a->again == b->again && a->increment == b->increment;
}

static inline bool test_same_profile(const struct clp_profile *a, const struct clp_profile *b)
{
    bool same = a->function_count == b->function_count && test_same_meta(&a->meta, &b->meta);

    for (size_t i = 0; same && i < a->function_count; i++)
        same = test_same_function(&a->functions[i], &b->functions[i]);
    same = same && a->series_count == b->series_count;
    for (size_t i = 0; same && i < a->series_count; i++)
        same = test_same_series(&a->series[i], &b->series[i]);
    same = same && a->process_count == b->process_count;
    for (size_t i = 0; same && i < a->process_count; i++)
        same = test_same_process(&a->processes[i], &b->processes[i]);
    same = same && a->call_count == b->call_count && a->calls_cut == b->calls_cut;
    for (size_t i = 0; same && i < a->call_count; i++)
        same = test_same_call(&a->calls[i], &b->calls[i]);
    return same;
}

/* What the header of profile.h promises of every profile. */
static inline void test_check_profile(struct clp_profile *profile)
{
    for (size_t i = 0; i < profile->function_count; i++) {
        const struct clp_profile_function *function = &profile->functions[i];
        struct clp_profile_function *found;
        cr_assert_leq(function->line_count, function->line_room);
        for (size_t j = 1; j < function->line_count; j++)
            cr_assert_lt(function->lines[j - 1].line, function->lines[j].line);
        for (size_t j = 1; j < function->missed_count; j++)
            cr_assert_lt(function->missed[j - 1], function->missed[j]);
        cr_assert_eq(clp_profile_add_function(profile, function->file, function->name,
                                              function->first_line, &found), CLP_OK);
        cr_assert_eq(found, function, "function %zu is not the one its key finds", i);
    }
}

#endif
