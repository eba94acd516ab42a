/* SPDX-License-Identifier: MIT */
#include "heap/epochs.h"
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#define WORKERS 4
#define ROUNDS 200
#define LONG ((uint64_t)1 << 62) /* nanoseconds: does not pass */

static const struct clp_clock monotonic = {0};
static struct clp_heap heap;
static struct clp_epochs epochs;
static struct clp_functions functions;
static struct clp_mem mem;

static void add_function(const char *name)
{
    char file[] = "a.py", own[16];
    uint32_t number;

    (void)snprintf(own, sizeof own, "%s", name);
    cr_assert_eq(clp_functions_add(&functions, &(struct clp_function){.file = file, .name = own, .line_count = 1},
                                   &number), CLP_OK);
}

static void start(enum clp_heap_epochs by)
{
    mem = clp_mem_system();
    clp_functions_init(&functions, &mem);
    add_function("C.f");
    add_function("g");
    cr_assert_eq(clp_heap_init(&heap, 1, by), CLP_OK);
    epochs = (struct clp_epochs){.heap = &heap, .clock = &monotonic};
}

static void finish(void)
{
    clp_heap_clear(&heap);
    clp_functions_clear(&functions);
}

static void call(uint32_t function, int times)
{
    for (int i = 0; i < times; i++)
        clp_epochs_note_call(&epochs, &functions, function, &epochs);
}

Test(epochs, a_name_is_whole_or_what_stands_behind_the_last_dot)
{
    cr_expect(clp_epochs_is_named("f", "f"));
    cr_expect(clp_epochs_is_named("f", "C.f"));
    cr_expect(clp_epochs_is_named("C.f", "C.f"));
    cr_expect_not(clp_epochs_is_named("C", "C.f"));
    cr_expect_not(clp_epochs_is_named("f", "C.gf"));
}

Test(epochs, the_function_that_is_named_ends_them)
{
    char name[] = "f";

    start(CLP_HEAP_BY_ONE);
    clp_epochs_set(&epochs, &(struct clp_epochs){.kind = CLP_EPOCHS_NAMED, .name = name, .next = UINT64_MAX});
    call(0, 3);
    call(1, 5);
    clp_epochs_checkpoint(&epochs);
    cr_expect_eq(heap.clock.calls, 3);
    finish();
}

Test(epochs, each_function_ends_its_own)
{
    start(CLP_HEAP_BY_CALLS);
    clp_epochs_set(&epochs, &(struct clp_epochs){.kind = CLP_EPOCHS_CALLS, .next = UINT64_MAX});
    call(0, 3);
    call(1, 5);
    cr_expect_eq(heap.functions[0].clock.calls, 3);
    cr_expect_eq(heap.functions[1].clock.calls, 5);
    cr_expect_eq(heap.clock.calls, 0);
    finish();
}

/* Where nobody tells of calls, many are noted at once. */
Test(epochs, a_look_is_due_after_each_eighth)
{
    start(CLP_HEAP_BY_CALLS);
    clp_epochs_set(&epochs, &(struct clp_epochs){.kind = CLP_EPOCHS_CALLS, .next = UINT64_MAX});
    clp_epochs_note_calls(&epochs, 0, 63);
    cr_expect_not(epochs.due);
    clp_epochs_note_calls(&epochs, 1, 1);
    cr_expect(epochs.due);
    cr_expect_eq(heap.progress, 64);
    epochs.due = false;
    clp_epochs_note_calls(&epochs, 0, 7);
    cr_expect_not(epochs.due);
    clp_epochs_note_calls(&epochs, 0, 1);
    cr_expect(epochs.due);
    finish();
}

/* A body that returns marks the end if it has seen most of the calls. Another one that runs at the same place in the
 * table has none. */
Test(epochs, the_longest_body_ends_the_program)
{
    static const char bodies[2];

    start(CLP_HEAP_BY_CALLS);
    clp_epochs_set(&epochs, &(struct clp_epochs){.kind = CLP_EPOCHS_CALLS, .next = UINT64_MAX});
    clp_epochs_note_call(&epochs, &functions, 0, &bodies[0]);
    for (int i = 0; i < 20; i++) {
        clp_epochs_note_call(&epochs, &functions, 1, &bodies[1]);
        clp_epochs_note_return(&epochs, &bodies[1]);
        cr_expect_eq(heap.end, CLP_HEAP_RUNS);
    }
    clp_epochs_note_return(&epochs, &bodies[0]);
    cr_expect_eq(heap.end, CLP_HEAP_RETURNED);
    cr_expect_eq(heap.marked, 21);
    clp_epochs_note_return(&epochs, &bodies[0]);
    finish();
}

Test(epochs, the_program_ends_them)
{
    start(CLP_HEAP_BY_ONE);
    clp_epochs_checkpoint(&epochs);
    clp_epochs_set(&epochs, &(struct clp_epochs){.kind = CLP_EPOCHS_CHECKPOINTS, .next = UINT64_MAX});
    clp_epochs_checkpoint(&epochs);
    clp_epochs_checkpoint(&epochs);
    cr_expect_eq(heap.clock.calls, 2);
    finish();
}

Test(epochs, time_ends_them)
{
    start(CLP_HEAP_BY_ONE);
    clp_epochs_look_at_time(&epochs);
    cr_expect_eq(heap.clock.calls, 0, "there were none");
    clp_epochs_set(&epochs, &(struct clp_epochs){.kind = CLP_EPOCHS_SECONDS, .period = LONG, .next = 1});
    for (int i = 0; i < 3; i++)
        clp_epochs_look_at_time(&epochs);
    cr_expect_eq(heap.clock.calls, 1);
    clp_epochs_set(&epochs, &(struct clp_epochs){.kind = CLP_EPOCHS_SECONDS, .period = 1, .next = 1});
    for (int i = 0; i < 3; i++) {
        clp_epochs_look_at_time(&epochs);
        while (clp_clock_monotonic() < epochs.next)
            ;
    }
    cr_expect_eq(heap.clock.calls, 4);
    finish();
}

/* ---- without the interpreter's lock ---- */

static bool done;

static void *look(void *nothing)
{
    (void)nothing;
    while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
        clp_epochs_look_at_time(&epochs);
        sched_yield();
    }
    return NULL;
}

/* For `SANITIZER=thread make unit`, too. */
Test(epochs, of_all_who_look_one_ends_them)
{
    pthread_t threads[WORKERS];

    start(CLP_HEAP_BY_ONE);
    done = false;
    for (int i = 0; i < WORKERS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, look, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        clp_epochs_set(&epochs, &(struct clp_epochs){.kind = CLP_EPOCHS_SECONDS, .period = LONG, .next = 1});
        while (__atomic_load_n(&epochs.next, __ATOMIC_RELAXED) == 1)
            sched_yield();
        clp_epochs_set(&epochs, &(struct clp_epochs){.next = UINT64_MAX});
    }
    __atomic_store_n(&done, true, __ATOMIC_RELAXED);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    cr_expect_eq(heap.clock.calls, ROUNDS);
    finish();
}
