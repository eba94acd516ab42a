/* SPDX-License-Identifier: MIT */
#include "heap/heap.h"
#include "heap/heap_results.h"
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>

static struct clp_heap heap;
static struct clp_functions functions;
static struct clp_mem mem;

#define LINES 4

static struct clp_heap_place at(uint32_t function, uint32_t line, uint32_t execution)
{
    return (struct clp_heap_place){.function = function, .line = line, .line_count = LINES, .execution = execution};
}

static const void *address(uint64_t number)
{
    return (const void *)(uintptr_t)(0x100000 + number * 16);
}

static void start(uint64_t interval, enum clp_heap_epochs epochs)
{
    uint32_t number;
    char names[2][2] = {"f", "g"}, file[] = "a.py";

    mem = clp_mem_system();
    clp_functions_init(&functions, &mem);
    for (int i = 0; i < 2; i++) {
        struct clp_function function = {
            .file = file, .name = names[i], .first_line = 10 * i + 1, .lowest_line = 10 * i + 1,
            .line_count = LINES};
        cr_assert_eq(clp_functions_add(&functions, &function, &number), CLP_OK);
    }
    cr_assert_eq(clp_heap_init(&heap, interval, epochs), CLP_OK);
}

static void finish(void)
{
    clp_heap_clear(&heap);
    clp_functions_clear(&functions);
    cr_assert_eq(mem.bytes, 0);
}

static void add(uint64_t number, size_t bytes, struct clp_heap_place place)
{
    clp_heap_add(&heap, address(number), bytes, &place);
}

static void drop(uint64_t number, struct clp_heap_place place)
{
    clp_heap_drop(&heap, address(number), &place);
}

static const struct clp_heap_line *line_of(uint32_t function, uint32_t line)
{
    return &heap.functions[function].lines[line];
}

static int64_t live(uint32_t function, uint32_t line)
{
    return line_of(function, line)->live;
}

static void count_block(void *data, struct clp_shadow_slot *slot)
{
    (void)slot;
    ++*(size_t *)data;
}

static size_t blocks_in_table(void)
{
    size_t count = 0;

    clp_shadow_walk(&heap.shadow, count_block, &count);
    return count;
}

Test(heap, blocks_are_their_lines)
{
    start(1, CLP_HEAP_NO_EPOCHS);
    add(1, 100, at(0, 1, 1));
    add(2, 50, at(1, 3, 1));
    add(3, 7, at(CLP_HEAP_NOBODY, 0, 0));
    cr_expect_eq(live(0, 1), 100);
    cr_expect_eq(live(1, 3), 50);
    cr_expect_eq(heap.nobody.live, 7);
    cr_expect_eq(heap.live, 157);
    drop(1, at(1, 0, 9)); /* another line frees it */
    drop(4, at(1, 0, 9)); /* never seen */
    cr_expect_eq(live(0, 1), 0);
    cr_expect_eq(line_of(0, 1)->freed_at_once, 0);
    cr_expect_eq(heap.live, 57);
    cr_expect_eq(blocks_in_table(), 2);
    finish();
}

Test(heap, freed_by_the_execution_that_allocated)
{
    start(1, CLP_HEAP_NO_EPOCHS);
    add(1, 100, at(0, 1, 5));
    drop(1, at(0, 1, 5));
    add(1, 100, at(0, 1, 6));
    drop(1, at(0, 1, 7)); /* the next time */
    add(1, 100, at(0, 1, 7));
    drop(1, at(0, 2, 7));
    add(1, 1, at(CLP_HEAP_NOBODY, 0, 0));
    drop(1, at(CLP_HEAP_NOBODY, 0, 0));
    cr_expect_eq(line_of(0, 1)->freed_at_once, 100);
    cr_expect_eq(heap.nobody.freed_at_once, 0);
    finish();
}

Test(heap, resizing_moves_ownership)
{
    struct clp_heap_block taken;
    struct clp_heap_place next = at(0, 2, 1);

    start(1, CLP_HEAP_NO_EPOCHS);
    add(1, 100, at(0, 1, 1));
    cr_assert(clp_heap_take(&heap, address(1), &taken));
    cr_expect_eq(live(0, 1), 0);
    clp_heap_restore(&heap, &taken); /* there was no memory */
    cr_expect_eq(live(0, 1), 100);
    cr_assert(clp_heap_take(&heap, address(1), &taken));
    clp_heap_moved(&heap, &taken, address(9), 300, &next);
    cr_expect_eq(live(0, 1), 0);
    cr_expect_eq(live(0, 2), 300);
    cr_expect_not(clp_heap_take(&heap, address(1), &taken));
    cr_expect_eq(heap.live, 300);
    cr_assert(clp_heap_take(&heap, address(9), &taken));
    clp_heap_moved(&heap, &taken, address(9), 10, &next); /* the same execution again */
    cr_expect_eq(live(0, 2), 10);
    cr_expect_eq(line_of(0, 2)->freed_at_once, 300);
    finish();
}

/* An address that comes twice was freed where nobody saw it. */
Test(heap, stale_blocks_make_room)
{
    start(1, CLP_HEAP_NO_EPOCHS);
    add(1, 100, at(0, 1, 1));
    add(1, 30, at(0, 2, 1));
    cr_expect_eq(live(0, 1), 0);
    cr_expect_eq(live(0, 2), 30);
    cr_expect_eq(blocks_in_table(), 1);
    finish();
}

/* Against a plain array, with all that goes on: additions, removals, growth. */
Test(heap, table_holds_what_it_should)
{
    enum { BLOCKS = 20000, STEPS = 400000 };
    static size_t sizes[BLOCKS];
    int64_t sum = 0, lines[LINES] = {0};

    start(1, CLP_HEAP_NO_EPOCHS);
    srand(7);
    for (int i = 0; i < STEPS; i++) {
        size_t number = (size_t)rand() % BLOCKS, line = number % LINES;
        if (sizes[number] == 0) {
            sizes[number] = 1 + (size_t)rand() % 1000;
            add(number, sizes[number], at(0, (uint32_t)line, 1));
            sum += (int64_t)sizes[number];
            lines[line] += (int64_t)sizes[number];
        } else {
            drop(number, at(1, 0, 1));
            sum -= (int64_t)sizes[number];
            lines[line] -= (int64_t)sizes[number];
            sizes[number] = 0;
        }
    }
    cr_assert_eq(heap.live, sum);
    for (uint32_t i = 0; i < LINES; i++)
        cr_assert_eq(live(0, i), lines[i]);
    for (size_t i = 0; i < BLOCKS; i++)
        if (sizes[i] != 0)
            drop(i, at(1, 0, 1));
    cr_assert_eq(heap.live, 0);
    cr_assert_eq(blocks_in_table(), 0);
    finish();
    cr_assert_eq(heap.pages.bytes, 0, "pages that did not go back");
}

static struct clp_measures measures_of(int32_t line)
{
    struct clp_profile profile;
    struct clp_measures found = {0};

    clp_profile_init(&profile, &mem);
    cr_assert_eq(clp_heap_fill(&heap, &(struct clp_heap_scope){.functions = &functions},
                               &profile), CLP_OK);
    for (size_t i = 0; i < profile.function_count; i++)
        for (size_t j = 0; j < profile.functions[i].line_count; j++)
            if (profile.functions[i].lines[j].line == line)
                found = profile.functions[i].lines[j].measures;
    clp_profile_clear(&profile);
    return found;
}

Test(heap, what_each_line_had_at_the_peak)
{
    start(1, CLP_HEAP_NO_EPOCHS);
    add(1, 100, at(0, 0, 1));
    add(2, 1000, at(0, 1, 1)); /* a peak of 1100 */
    drop(1, at(1, 0, 1));
    drop(2, at(1, 0, 1));
    add(3, 600, at(0, 2, 1));
    add(4, 450, at(0, 0, 1)); /* 1050 is none */
    cr_expect_eq(measures_of(1).heap_peak, 100);
    cr_expect_eq(measures_of(2).heap_peak, 1000);
    cr_expect_eq(measures_of(3).heap_peak, 0);
    add(5, 60, at(0, 3, 1)); /* 1110 is */
    cr_expect_eq(measures_of(1).heap_peak, 450);
    cr_expect_eq(measures_of(2).heap_peak, 0);
    cr_expect_eq(measures_of(3).heap_peak, 600);
    cr_expect_eq(measures_of(4).heap_peak, 60);
    cr_expect_eq(measures_of(3).live, 600);
    cr_expect_eq(measures_of(3).live_blocks, 1);
    cr_expect_eq(heap.peak, 1110);
    finish();
}

/* ---- sampling ---- */

static int64_t left_now;
static uint32_t level_now;

/* Adds blocks of one size as a thread does; how many were chosen. */
static size_t allocate(size_t count, size_t bytes, uint64_t *random)
{
    const struct clp_heap_countdown countdown = {&left_now, random, &level_now};
    struct clp_heap_place place = at(0, 0, 1);
    size_t chosen = 0;

    if (*random == 0)
        left_now = clp_heap_draw(&heap, &countdown);
    for (size_t i = 0; i < count; i++) {
        left_now -= (int64_t)bytes;
        if (left_now >= 0 || !clp_heap_choose(&heap, &countdown, bytes, &place.level))
            continue;
        add(i + bytes * 100000, bytes, place);
        chosen++;
    }
    return chosen;
}

static void check_near(double found, double expected, double part)
{
    cr_expect(found > expected * (1 - part) && found < expected * (1 + part), "%g, not %g", found,
              expected);
}

Test(heap, estimates_are_unbiased)
{
    uint64_t random = 0;

    start(4096, CLP_HEAP_NO_EPOCHS);
    size_t chosen = allocate(1000000, 100, &random);
    check_near((double)chosen, 1000000 * 100 / 4096.0, 0.03);
    check_near((double)live(0, 0), 1e8, 0.03);
    check_near((double)line_of(0, 0)->blocks / CLP_HEAP_ONE, 1e6, 0.03);
    int64_t before = live(0, 0);
    allocate(50000, 4096, &random); /* chosen with 63 % each */
    check_near((double)(live(0, 0) - before), 50000 * 4096.0, 0.03);
    before = live(0, 0);
    cr_expect_eq(allocate(100, 1000000, &random), 100, "large ones always are");
    cr_expect_eq(live(0, 0) - before, 100000000);
    finish();
}

/* The first blocks are chosen more often, and each stands for what it stood for at its time. */
Test(heap, the_usual_interval_is_finer_at_first)
{
    enum { BYTES = 40 };
    uint64_t random = 0;

    start(CLP_HEAP_INTERVAL, CLP_HEAP_NO_EPOCHS);
    heap.seeds = 5;
    cr_expect_eq(heap.level, CLP_HEAP_LEVELS);
    size_t chosen = allocate(100000, BYTES, &random);
    check_near((double)chosen, 100000 * BYTES / 1024.0, 0.1);
    check_near((double)live(0, 0), 100000 * BYTES, 0.1);
    size_t blocks = (size_t)CLP_HEAP_LEVEL_BLOCKS * (1024 + 4096 + 16384) / BYTES * 11 / 10; /* until the last level */
    allocate(blocks, BYTES, &random);
    cr_expect_eq(heap.level, 0);
    chosen = allocate(blocks, BYTES, &random);
    check_near((double)chosen, (double)blocks * BYTES / CLP_HEAP_INTERVAL, 0.1);
    finish();
    start(CLP_HEAP_INTERVAL + 1, CLP_HEAP_NO_EPOCHS);
    cr_expect_eq(heap.level, 0, "an interval that was asked for");
    finish();
}

Test(heap, estimates_of_all_levels_cancel_when_all_is_freed)
{
    uint64_t random = 0;

    start(CLP_HEAP_INTERVAL, CLP_HEAP_NO_EPOCHS);
    allocate(400000, 400, &random);
    cr_expect_eq(heap.level, CLP_HEAP_LEVELS - 2);
    check_near((double)live(0, 0), 400000 * 400, 0.03);
    for (uint64_t i = 0; i < 400000; i++)
        drop(i + 400 * 100000, at(1, 0, 1));
    cr_expect_eq(live(0, 0), 0);
    cr_expect_eq(line_of(0, 0)->blocks, 0);
    finish();
}

Test(heap, estimates_cancel_when_all_is_freed)
{
    uint64_t random = 0;

    start(4096, CLP_HEAP_NO_EPOCHS);
    allocate(100000, 100, &random);
    for (uint64_t i = 0; i < 100000; i++)
        drop(i + 100 * 100000, at(1, 0, 1));
    cr_expect_eq(live(0, 0), 0);
    cr_expect_eq(line_of(0, 0)->blocks, 0);
    finish();
}

Test(heap, a_look_tells_what_is_there)
{
    start(4096, CLP_HEAP_NO_EPOCHS);
    for (uint64_t i = 0; i < 50000; i += 2)
        add(i, 100, at(0, 0, 1));
    for (uint64_t i = 0; i < 100000; i++)
        cr_assert_eq(clp_heap_may_have(&heap, address(i)), i < 50000 && i % 2 == 0);
    for (uint64_t i = 0; i < 50000; i += 2)
        drop(i, at(1, 0, 1));
    for (uint64_t i = 0; i < 50000; i++)
        cr_assert_not(clp_heap_may_have(&heap, address(i)));
    finish();
}

/* Sizes and addresses that nobody has; what cannot be followed is said. */
Test(heap, what_cannot_be_followed_is_known_to_be_lost)
{
    struct clp_heap_place place = at(0, 1, 1);

    start(1, CLP_HEAP_NO_EPOCHS);
    clp_heap_add(&heap, address(1), (size_t)CLP_HEAP_MOST_BYTES - 1, &place);
    cr_expect_not(heap.lost);
    cr_expect_eq(live(0, 1), (int64_t)CLP_HEAP_MOST_BYTES - 1);
    clp_heap_add(&heap, address(2), (size_t)CLP_HEAP_MOST_BYTES, &place);
    cr_expect(heap.lost);
    heap.lost = false;
    clp_heap_add(&heap, (const char *)address(3) + 8, 8, &place);
    cr_expect_not(heap.lost); /* other allocators have such */
    clp_heap_add(&heap, (const char *)address(3) + 8, 9, &place);
    cr_expect(heap.lost);
    clp_heap_drop(&heap, (const char *)address(1) + 8, &place);
    cr_expect_eq(live(0, 1), (int64_t)CLP_HEAP_MOST_BYTES - 1);
    finish();
}

Test(heap, it_starts_anew)
{
    start(1, CLP_HEAP_BY_CALLS);
    for (int turn = 0; turn < 3; turn++) {
        uint64_t bytes = heap.pages.bytes;
        for (uint64_t i = 0; i < 20000; i++)
            add(i, 100, at(0, 1, 1));
        clp_heap_call(&heap, 0, 1);
        cr_expect_eq(live(0, 1), 2000000);
        cr_expect(turn == 0 || heap.pages.bytes - bytes <= 2 << 20, "it takes more every time");
        cr_assert_eq(clp_heap_restart(&heap, 1, CLP_HEAP_BY_CALLS), CLP_OK);
        cr_expect_eq(blocks_in_table(), 0);
        cr_expect_eq(heap.live, 0);
        cr_expect_eq(heap.function_room, 0);
        cr_expect_not(clp_heap_take(&heap, address(7), &(struct clp_heap_block){0}));
    }
    finish();
    cr_assert_eq(heap.pages.bytes, 0, "pages that did not go back");
}

/* An allocator may be resizing a block in one thread while another one restarts the table. */
Test(heap, what_was_taken_before_a_restart_has_no_owner_behind_it)
{
    struct clp_heap_block moved, kept;
    struct clp_heap_place place = at(1, 2, 1);

    start(1, CLP_HEAP_BY_CALLS);
    for (uint32_t line = 0; line < LINES; line++)
        add(line, 100, at(0, line, 1));
    cr_assert(clp_heap_take(&heap, address(2), &moved));
    cr_assert(clp_heap_take(&heap, address(3), &kept));
    cr_assert_eq(clp_heap_restart(&heap, 1, CLP_HEAP_BY_CALLS), CLP_OK);
    clp_heap_moved(&heap, &moved, address(12), 70, &place);
    clp_heap_restore(&heap, &kept);
    cr_expect_eq(heap.live, 70);
    cr_expect_eq(live(1, 2), 70);
    cr_expect_eq(blocks_in_table(), 1);
    finish();
}

#define WORKERS 4

static bool done;

/* Allocates, looks up, resizes and frees blocks that nobody else has. */
static void *use_table(void *first)
{
    uint64_t number = (uint64_t)(uintptr_t)first, random = 0;
    struct clp_heap_place place = at(1, (uint32_t)number % LINES, 1);
    struct clp_heap_block taken;
    int64_t left = -1;
    uint32_t level = 0;
    const struct clp_heap_countdown countdown = {&left, &random, &level};

    while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
        if (clp_heap_choose(&heap, &countdown, 100, &place.level))
            add(number, 100, place);
        bool known = clp_heap_may_have(&heap, address(number)) && clp_heap_take(&heap, address(number), &taken);
        clp_heap_moved(&heap, known ? &taken : NULL, address(number + 1), 200, &place);
        if (clp_heap_may_have(&heap, address(number + 1)))
            drop(number + 1, place);
    }
    return NULL;
}

/* For `SANITIZER=thread make unit`. */
Test(heap, it_starts_anew_while_threads_use_it)
{
    pthread_t threads[WORKERS];

    start(1, CLP_HEAP_NO_EPOCHS);
    done = false;
    for (uintptr_t i = 0; i < WORKERS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, use_table, (void *)(i * 2)), 0);
    for (uint64_t i = 0; i < 300; i++)
        cr_assert_eq(clp_heap_restart(&heap, 1 + i % 3, i % 2 ? CLP_HEAP_BY_ONE : CLP_HEAP_NO_EPOCHS), CLP_OK);
    __atomic_store_n(&done, true, __ATOMIC_RELAXED);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    cr_assert_eq(clp_heap_restart(&heap, 1, CLP_HEAP_NO_EPOCHS), CLP_OK);
    cr_expect_eq(blocks_in_table(), 0);
    cr_expect_eq(heap.live, 0);
    finish();
}

/* ---- epochs and verdicts ---- */

static size_t judge(int64_t limit, struct clp_profile_leak *first)
{
    const struct clp_heap_judging judging = {.warmups = -1, .limit = limit, .seconds = 2};
    struct clp_profile profile;
    size_t count = 0;

    clp_profile_init(&profile, &mem);
    cr_assert_eq(clp_heap_judge(&heap, &(struct clp_heap_scope){.functions = &functions},
                                &judging, &profile), CLP_OK);
    for (size_t i = 0; i < profile.function_count; i++) {
        if (profile.functions[i].leak_count != 0 && count == 0)
            *first = profile.functions[i].leaks[0];
        count += profile.functions[i].leak_count;
    }
    clp_profile_clear(&profile);
    return count;
}

/* What is judged twice is judged the same. */
static size_t leaks_found(int64_t limit, struct clp_profile_leak *first)
{
    struct clp_profile_leak second = {0}, unused = {0};

    if (first == NULL)
        first = &unused;
    clp_heap_finish(&heap);
    size_t count = judge(limit, first);
    cr_expect_eq(judge(limit, &second), count);
    cr_expect(count == 0 || (second.line == first->line && second.bytes == first->bytes &&
                             second.bytes_per_call == first->bytes_per_call &&
                             second.confidence == first->confidence));
    return count;
}

/* Function 0: line 0 leaks, line 1 keeps a temporary until the next call, line 2 a ring of ten. */
static void call_often(size_t calls)
{
    for (size_t i = 0; i < calls; i++) {
        clp_heap_call(&heap, 0, 1);
        add(i, 600, at(0, 0, (uint32_t)i));
        add(10000000, 100000, at(0, 1, (uint32_t)i));
        if (i >= 10)
            drop(20000000 + i - 10, at(0, 2, (uint32_t)i));
        add(20000000 + i, 5000, at(0, 2, (uint32_t)i));
        drop(10000000, at(0, 3, (uint32_t)i));
    }
}

Test(heap, the_leak_is_found_among_the_innocent)
{
    const size_t calls[] = {20, 21, 63, 64, 65, 66, 127, 128, 129, 1000, 5000};

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct clp_profile_leak leak = {0};
        start(1, CLP_HEAP_BY_CALLS);
        call_often(calls[i]);
        cr_assert_eq(leaks_found(0, &leak), 1, "%zu calls", calls[i]);
        cr_assert_eq(leak.line, 1);
        check_near(leak.bytes_per_call, 600, 0.01);
        check_near(leak.bytes_per_second, (double)leak.bytes / 2, 0.01);
        cr_assert_eq(leak.bytes % 600, 0);
        finish();
    }
}

/* A loop within a single call: what its lines keep is judged by their own executions. */
Test(heap, a_loop_of_a_single_call_is_judged)
{
    struct clp_profile_leak leak = {0};

    start(1, CLP_HEAP_BY_CALLS);
    clp_heap_call(&heap, 0, 1);
    for (uint32_t i = 0; i < 200; i++) {
        add(3 * i, 500, at(0, 2, 3 * i)); /* two blocks in each third execution */
        add(3 * i + 1, 100, at(0, 2, 3 * i));
        add(10000000, 9000, at(0, 1, i)); /* a variable that is bound anew */
    }
    cr_assert_eq(leaks_found(0, &leak), 1);
    cr_expect_eq(leak.line, 3);
    cr_expect(leak.per_execution);
    check_near(leak.bytes_per_call, 200, 0.03);
    finish();
}

/* A line that runs once is not judged, however much it allocates. */
Test(heap, a_line_that_runs_once_is_no_loop)
{
    start(1, CLP_HEAP_BY_CALLS);
    clp_heap_call(&heap, 0, 1);
    for (uint32_t i = 0; i < 200; i++)
        add(i, 500, at(0, 2, 1));
    cr_expect_eq(leaks_found(0, NULL), 0);
    finish();
}

/* Function 1 loads `files`, then function 0 is called `calls` times and keeps nothing. */
static size_t leaks_of_loading(size_t files, size_t calls)
{
    start(1, CLP_HEAP_BY_CALLS);
    for (uint32_t i = 0; i < files; i++) {
        clp_heap_call(&heap, 1, 1);
        add(i, 1000, at(1, 0, i));
    }
    for (uint32_t i = 0; i < calls; i++)
        clp_heap_call(&heap, 0, 1);
    size_t count = leaks_found(0, NULL);
    finish();
    return count;
}

Test(heap, what_is_loaded_at_the_start_is_no_leak)
{
    cr_expect_eq(leaks_of_loading(100, 0), 1, "who knows what is to follow?");
    cr_expect_eq(leaks_of_loading(100, 150), 1);
    cr_expect_eq(leaks_of_loading(100, 250), 0);
}

/* Two blocks come for each that goes: each lives, but ever longer. */
Test(heap, a_backlog_is_a_leak)
{
    start(1, CLP_HEAP_BY_CALLS);
    for (uint32_t i = 0; i < 1000; i++) {
        clp_heap_call(&heap, 0, 1);
        add(2 * i, 500, at(0, 0, i));
        add(2 * i + 1, 500, at(0, 0, i));
        drop(i, at(0, 1, i));
    }
    cr_expect_eq(leaks_found(0, NULL), 1);
    finish();
}

static void resize(uint64_t from, uint64_t to, size_t bytes, struct clp_heap_place place)
{
    struct clp_heap_block taken;
    bool known = clp_heap_take(&heap, address(from), &taken);

    clp_heap_moved(&heap, known ? &taken : NULL, address(to), bytes, &place);
}

/* Function 0 keeps 500 bytes in each of 100 calls, and `who` frees them at the end. */
static size_t leaks_freed_by(struct clp_heap_place who, enum clp_heap_end mark, struct clp_profile_leak *leak)
{
    start(1, CLP_HEAP_BY_CALLS);
    for (uint32_t i = 0; i < 100; i++) {
        clp_heap_call(&heap, 0, 1);
        add(i, 500, at(0, 0, i));
    }
    if (mark == CLP_HEAP_RETURNED)
        clp_heap_mark(&heap, mark);
    for (uint32_t i = 0; i < 100; i++)
        drop(i, who);
    clp_heap_mark(&heap, CLP_HEAP_ENDED);
    size_t count = leaks_found(0, leak);
    finish();
    return count;
}

Test(heap, what_is_freed_on_the_way_out_leaks)
{
    struct clp_profile_leak leak = {0};

    cr_assert_eq(leaks_freed_by(at(CLP_HEAP_NOBODY, 0, 0), CLP_HEAP_RUNS, &leak), 1);
    cr_expect(leak.at_end);
    cr_expect_eq(leak.bytes, 45000);
    cr_expect_eq(leaks_freed_by(at(1, 1, 1), CLP_HEAP_RUNS, NULL), 0, "the program has cleared it");
    leak.at_end = false;
    cr_assert_eq(leaks_freed_by(at(1, 1, 1), CLP_HEAP_RETURNED, &leak), 1, "after main() had returned");
    cr_expect(leak.at_end);
    struct clp_heap_place clears = at(1, 1, 1);
    clears.unmarks = true;
    cr_expect_eq(leaks_freed_by(clears, CLP_HEAP_RETURNED, NULL), 0, "the mark is none of main()");
}

/* Function 0 keeps 500 bytes in each of 100 calls. The collector frees them after the mark, and may have seen the blocks
 * before. */
static size_t leaks_that_are_collected(enum clp_heap_end mark, bool seen, const char *holder)
{
    start(1, CLP_HEAP_BY_CALLS);
    for (uint32_t i = 0; i < 100; i++) {
        clp_heap_call(&heap, 0, 1);
        add(i, 500, at(0, 0, i));
    }
    if (seen) {
        clp_heap_collects(&heap, true);
        clp_heap_collects(&heap, false);
        clp_heap_call(&heap, 0, 1);
    }
    if (holder != NULL)
        clp_heap_note_holder(&heap, 2, holder); /* 1 is nobody */
    clp_heap_mark(&heap, mark);
    clp_heap_collects(&heap, true);
    for (uint32_t i = 0; i < 100; i++)
        drop(i, at(CLP_HEAP_NOBODY, 0, 0));
    clp_heap_collects(&heap, false);
    clp_heap_mark(&heap, CLP_HEAP_ENDED);
    size_t count = leaks_found(0, NULL);
    finish();
    return count;
}

Test(heap, what_waited_for_the_collector_does_not_leak)
{
    cr_expect_eq(leaks_that_are_collected(CLP_HEAP_RETURNED, false, NULL), 0);
    cr_expect_eq(leaks_that_are_collected(CLP_HEAP_ENDED, false, NULL), 0);
    cr_expect_eq(leaks_that_are_collected(CLP_HEAP_RETURNED, true, NULL), 1, "it did not wait: it was held");
    cr_expect_eq(leaks_that_are_collected(CLP_HEAP_ENDED, true, NULL), 1);
    cr_expect_eq(leaks_that_are_collected(CLP_HEAP_RETURNED, false, "a list"), 1);
}

/* A mark that is kept lacks what was allocated a little later. */
Test(heap, what_is_alive_at_the_end_is_in_the_mark)
{
    struct clp_profile_leak leak = {0};

    start(1, CLP_HEAP_BY_CALLS);
    for (uint32_t i = 0; i < 102; i++) {
        if (i == 100)
            clp_heap_mark(&heap, CLP_HEAP_RETURNED);
        clp_heap_call(&heap, 0, 1);
        add(i, 500, at(0, 0, i));
    }
    clp_heap_mark(&heap, CLP_HEAP_ENDED);
    cr_expect_eq(heap.marked, 100 + 7, "calls, and executions before the eighth call");
    cr_assert_eq(leaks_found(0, &leak), 1);
    cr_expect_eq(leak.bytes, (102 - 10) * 500, "all but the warm-up");
    finish();
}

/* A line keeps 500 bytes in each of 100 times a billion calls, and another one frees in each call what it had before. */
Test(heap, calls_beyond_four_billions)
{
    start(1, CLP_HEAP_BY_CALLS);
    for (uint32_t i = 0; i < 100; i++) {
        clp_heap_call(&heap, 0, 1000000000);
        add(2 * i, 500, at(0, 0, i));
        add(2 * i + 1, 500, at(0, 1, i));
        if (i > 0)
            drop(2 * i - 1, at(0, 1, i));
        clp_heap_mark(&heap, CLP_HEAP_RETURNED);
        cr_assert(heap.marked > 95 * (uint64_t)i * 10000000);
    }
    cr_expect_eq(heap.progress, UINT64_C(100000000000));
    cr_expect_eq(heap.born_shift, 5, "a hundred billions are less than 2^37");
    const struct clp_shadow_slot *first = clp_shadow_find(&heap.shadow, address(0)),
                                 *last = clp_shadow_find(&heap.shadow, address(198));
    cr_expect_eq(first->born, UINT64_C(1000000000) >> 5);
    cr_expect(!clp_heap_born_since(&heap, first, UINT64_C(2000000000)));
    cr_expect(clp_heap_born_since(&heap, last, heap.progress));
    cr_expect_eq(leaks_found(0, NULL), 1);
    finish();
}

/* Where nobody tells of calls, many are counted at once. */
Test(heap, calls_that_come_together)
{
    static const int64_t live[] = {0, 500, 500, 500, 1000};
    struct clp_heap_line *line;

    start(1, CLP_HEAP_BY_CALLS);
    clp_heap_call(&heap, 0, 1);
    add(1, 500, at(0, 0, 1));
    clp_heap_call(&heap, 0, 3);
    add(2, 500, at(0, 0, 4));
    clp_heap_call(&heap, 0, 1);
    line = &heap.functions[0].lines[0];
    cr_expect_eq(heap.functions[0].clock.calls, 5);
    cr_expect_eq(heap.progress, 5 + 2, "calls, and executions of a line that was called seldom");
    cr_assert_eq(heap.functions[0].clock.epochs, 4);
    for (size_t i = 0; i < 5; i++)
        cr_expect_eq(line->trail->live[i], live[i], "%zu: %lld", i, (long long)line->trail->live[i]);
    clp_heap_call(&heap, 0, 1000000000);
    cr_expect_eq(heap.functions[0].clock.calls, 1000000005);
    finish();
}

Test(heap, what_lines_allocated)
{
    const struct clp_heap_scope scope = {.functions = &functions, .allocated = true};
    struct clp_profile profile;

    start(1, CLP_HEAP_NO_EPOCHS);
    add(1, 500, at(0, 0, 1));
    drop(1, at(0, 0, 1));
    add(2, 200, at(0, 0, 2));
    resize(2, 3, 700, at(0, 0, 2));
    clp_profile_init(&profile, &mem);
    cr_assert_eq(clp_heap_fill(&heap, &scope, &profile), CLP_OK);
    cr_expect_eq(profile.functions[0].lines[0].measures.allocated, 1400, "a block that is resized counts again");
    cr_expect_eq(profile.functions[0].lines[0].measures.blocks, 3);
    clp_profile_clear(&profile);
    finish();
}

/* Function 0 returns, and much happens after that. */
Test(heap, a_mark_before_the_end_counts_no_more)
{
    start(1, CLP_HEAP_BY_CALLS);
    for (uint32_t i = 0; i < 200; i++) {
        if (i == 100) {
            clp_heap_mark(&heap, CLP_HEAP_RETURNED);
            for (uint32_t j = 0; j < 100; j++)
                drop(j, at(1, 1, 1));
        }
        clp_heap_call(&heap, 0, 1);
        if (i < 100)
            add(i, 500, at(0, 0, i));
    }
    clp_heap_mark(&heap, CLP_HEAP_ENDED);
    cr_expect_eq(heap.marked, heap.progress);
    cr_expect_eq(leaks_found(0, NULL), 0);
    finish();
}

Test(heap, few_calls_and_small_growth_are_no_leak)
{
    start(1, CLP_HEAP_BY_CALLS);
    call_often(7);
    cr_expect_eq(leaks_found(0, NULL), 0, "seven calls");
    finish();
    start(1, CLP_HEAP_BY_CALLS);
    call_often(1000);
    cr_expect_eq(leaks_found(-1, NULL), 0, "below 1 MiB");
    finish();
}

/* What is said of functions that keep 600 bytes a call. Function 0 was called often, the other as given. */
static void check_unjudged(size_t calls, int64_t limit, const char *wanted)
{
    const struct clp_heap_judging judging = {.warmups = -1, .limit = limit, .seconds = 2};
    const struct clp_heap_scope scope = {.functions = &functions};
    struct clp_profile profile;

    start(1, CLP_HEAP_BY_CALLS);
    call_often(20);
    for (size_t i = 0; i < calls; i++) {
        clp_heap_call(&heap, 1, 1);
        add(30000000 + i, 600, at(1, 0, (uint32_t)i));
    }
    clp_heap_finish(&heap);
    clp_profile_init(&profile, &mem);
    cr_assert_eq(clp_heap_fill(&heap, &scope, &profile), CLP_OK);
    cr_assert_eq(clp_heap_judge(&heap, &scope, &judging, &profile), CLP_OK);
    const char *said = profile.meta.leak_unjudged;
    cr_expect(said != NULL && wanted != NULL ? strcmp(said, wanted) == 0 : said == wanted, "%zu calls: %s", calls,
              said != NULL ? said : "nothing");
    clp_profile_clear(&profile);
    finish();
}

Test(heap, functions_with_few_calls_are_named)
{
    check_unjudged(1, 599, "g (1 call)");
    check_unjudged(1, 600, NULL);
    check_unjudged(7, 4199, "g (7 calls)");
    check_unjudged(8, 599, NULL);
}

Test(heap, one_clock_for_all)
{
    struct clp_profile_leak leak;

    start(1, CLP_HEAP_BY_ONE);
    for (uint64_t i = 0; i < 100; i++) {
        add(2 * i, 500, at(1, 0, 1));
        clp_heap_call(&heap, 0, 1);
        clp_heap_tick(&heap);
    }
    cr_expect_eq(leaks_found(0, &leak), 1);
    cr_expect_eq(leak.line, 11);
    finish();
}

/* ---- things that grow ---- */

/* A call by call, number n of 40: how does the thing of line 0 change? */
typedef void change_thing(uint32_t n);

static size_t leaks_of_samples(uint64_t interval, change_thing *act)
{
    struct clp_profile_leak leak = {0};

    start(interval, CLP_HEAP_BY_CALLS);
    for (uint32_t n = 1; n <= 40; n++) {
        clp_heap_call(&heap, 0, 1);
        act(n);
    }
    size_t count = leaks_found(0, &leak);
    cr_assert(count == 0 || (count == 1 && leak.line == 1));
    if (count == 1)
        check_near(leak.bytes_per_call, 1000, 0.1);
    finish();
    return count;
}

static size_t leaks_of_thing(change_thing *act)
{
    return leaks_of_samples(1, act);
}

static void resized(uint32_t n)
{
    resize(n - 1, n, 1000 * n, at(0, 0, n));
}

static void resized_where_it_is(uint32_t n)
{
    resize(1, 1, 1000 * n, at(0, 0, n));
}

/* As a str does, with a smaller temporary before and after it. */
static void copied(uint32_t n)
{
    add(100 + n, 1000, at(0, 0, n));
    add(200 + n, 1000 * n, at(0, 0, n));
    drop(100 + n, at(0, 0, n));
    add(300 + n, 10, at(0, 0, n));
    drop(200 + n - 1, at(0, 0, n));
    drop(300 + n, at(0, 0, n));
}

static void copied_and_freed_by_the_next_line(uint32_t n)
{
    add(n, 1000 * n, at(0, 0, n));
    drop(n - 1, at(0, 1, n));
}

Test(heap, a_thing_that_grows_leaks)
{
    cr_expect_eq(leaks_of_thing(resized), 1);
    cr_expect_eq(leaks_of_thing(resized_where_it_is), 1);
    cr_expect_eq(leaks_of_thing(copied), 1);
    cr_expect_eq(leaks_of_thing(copied_and_freed_by_the_next_line), 1);
}

static void replaced_by_its_like(uint32_t n)
{
    add(n, 100000, at(0, 0, n));
    drop(n - 1, at(0, 0, n));
}

/* 40 of 41 calls; there are 64 epochs at most, and they have a call each. */
static void cleared_at_last(uint32_t n)
{
    if (n < 40)
        resized(n);
    else
        drop(39, at(0, 3, n));
}

static void shrunk_at_last(uint32_t n)
{
    resize(1, 1, n < 38 ? 1000 * n : 1000 * (60 - n), at(0, 0, n));
}

/* Of a thing of 100 kB and more every fifth block is not in the table, as may be with samples. */
static void copied_and_seldom_seen(uint32_t n)
{
    if (n % 5 != 2)
        add(n, 100000 + 1000 * n, at(0, 0, n));
    drop(n - 1, at(0, 0, n));
}

/* .. and where it is made larger in place. */
static void resized_and_seldom_seen(uint32_t n)
{
    struct clp_heap_place place = at(0, 0, n);
    struct clp_heap_block taken;
    bool known = clp_heap_take(&heap, address(1), &taken);

    clp_heap_moved(&heap, known ? &taken : NULL, n % 5 != 2 ? address(1) : NULL, 100000 + 1000 * n, &place);
}

/* In every call it grows from nothing, and it stays till the next. */
static void built_anew(uint32_t n)
{
    drop(50, at(0, 1, n));
    for (uint32_t i = 1; i <= 10; i++)
        resize(50, 50, 1000 * i, at(0, 0, 10 * n + i));
}

static void grown_by_turns(uint32_t n)
{
    resize(1, 1, 1000 * n, at(0, n % 2, n));
}

static void changing_its_size(uint32_t n)
{
    add(n, 1000 * (n % 7 + 1), at(0, 0, n));
    drop(n - 1, at(0, 0, n));
}

static void cleared_every_ten_calls(uint32_t n)
{
    add(n, 100000 + 1000 * (n % 10), at(0, 0, n));
    drop(n - 1, at(0, n % 10 == 0 ? 3 : 0, n));
}

Test(heap, a_thing_that_samples_miss_now_and_then_leaks)
{
    cr_expect_eq(leaks_of_samples(65536, copied_and_seldom_seen), 1);
    cr_expect_eq(leaks_of_samples(65536, resized_and_seldom_seen), 1);
    cr_expect_eq(leaks_of_samples(1, copied_and_seldom_seen), 0, "what is exact misses none");
    cr_expect_eq(leaks_of_samples(65536, cleared_every_ten_calls), 0);
}

Test(heap, a_thing_that_does_not_stay_large_is_no_leak)
{
    cr_expect_eq(leaks_of_thing(replaced_by_its_like), 0);
    cr_expect_eq(leaks_of_thing(cleared_at_last), 0);
    cr_expect_eq(leaks_of_thing(shrunk_at_last), 0);
    cr_expect_eq(leaks_of_thing(built_anew), 0);
    cr_expect_eq(leaks_of_thing(changing_its_size), 0);
    cr_expect_eq(leaks_of_thing(grown_by_turns), 0, "whose is it?");
}

/* ---- C's allocators ---- */

static void map(uint64_t first, size_t bytes, struct clp_heap_place place)
{
    clp_heap_map(&heap, (const void *)(uintptr_t)first, bytes, &place);
}

static void unmap(uint64_t first, size_t bytes, struct clp_heap_place place)
{
    clp_heap_unmap(&heap, (const void *)(uintptr_t)first, bytes, &place);
}

Test(heap, parts_of_mappings_go)
{
    start(1, CLP_HEAP_NO_EPOCHS);
    map(0x10000, 0x4000, at(0, 1, 5));
    unmap(0x11000, 0x1000, at(0, 2, 1)); /* out of the middle */
    cr_expect_eq(live(0, 1), 0x3000);
    cr_expect_eq(heap.mappings.count, 2);
    unmap(0x10000, 0x3000, at(0, 2, 1)); /* the first whole, of the second half */
    cr_expect_eq(live(0, 1), 0x1000);
    cr_expect_eq(line_of(0, 1)->freed_at_once, 0);
    unmap(0, 0x100000, at(0, 2, 1));
    cr_expect_eq(live(0, 1), 0);
    cr_expect_eq(clp_shadow_find(&heap.shadow, (const void *)0x13000), NULL);
    cr_expect_eq(heap.mappings.count, 0);
    cr_expect_eq(heap.peak, 0x4000);
    finish();
}

Test(heap, a_mapping_over_others_replaces_them)
{
    start(1, CLP_HEAP_NO_EPOCHS);
    map(0x10000, 0x2000, at(0, 1, 1));
    map(0x13000, 0x2000, at(0, 2, 1));
    map(0x11000, 0x3000, at(1, 1, 1));
    cr_expect_eq(live(0, 1), 0x1000);
    cr_expect_eq(live(0, 2), 0x1000);
    cr_expect_eq(live(1, 1), 0x3000);
    map(0x11000, 0x3000, at(1, 2, 1));
    cr_expect_eq(live(1, 1), 0);
    cr_expect_eq(heap.mappings.count, 3);
    unmap(0x11000, 0x3000, at(1, 2, 1)); /* by the execution that mapped it */
    cr_expect_eq(line_of(1, 2)->freed_at_once, 0x3000);
    finish();
}

Test(heap, what_c_asks_for_stands_apart)
{
    struct clp_heap_place line = at(0, 1, 1), nobody = at(CLP_HEAP_NOBODY, 0, 0);
    struct clp_profile profile;

    start(1, CLP_HEAP_NO_EPOCHS);
    add(1, 50, line);
    add(2, 100, line);
    clp_heap_count_native(&heap, 100, &line);
    clp_heap_count_native(&heap, 70, &line); /* of a block that is gone by now */
    clp_heap_count_native(&heap, 10, &nobody);
    clp_profile_init(&profile, &mem);
    cr_assert_eq(clp_heap_fill(&heap, &(struct clp_heap_scope){.functions = &functions}, &profile),
                 CLP_OK);
    cr_expect_eq(profile.functions[0].lines[0].measures.native, 170);
    cr_expect_eq(profile.functions[0].lines[0].measures.native_blocks, 2);
    cr_expect_eq(profile.functions[0].lines[0].measures.live, 150);
    clp_profile_clear(&profile);
    finish();
}

Test(heap, samples_of_c_stand_for_their_kind)
{
    struct clp_heap_place line = at(0, 1, 1);
    uint64_t random = 0;
    int64_t left = 0;
    uint32_t level = 0;
    const struct clp_heap_countdown countdown = {&left, &random, &level};

    start(1000, CLP_HEAP_NO_EPOCHS);
    heap.seeds = 3;
    for (int i = 0; i < 200000; i++) {
        left -= 50;
        if (left < 0 && clp_heap_choose(&heap, &countdown, 50, &line.level))
            clp_heap_count_native(&heap, 50, &line);
    }
    cr_expect_float_eq((double)line_of(0, 1)->native, 1e7, 4e5);
    cr_expect_float_eq((double)line_of(0, 1)->native_blocks / CLP_HEAP_ONE, 2e5, 8e3);
    finish();
}

Test(heap, a_restart_forgets_mappings)
{
    start(1, CLP_HEAP_NO_EPOCHS);
    map(0x10000, 0x2000, at(0, 1, 1));
    cr_assert_eq(clp_heap_restart(&heap, 1, CLP_HEAP_NO_EPOCHS), CLP_OK);
    cr_expect_eq(heap.mappings.count, 0);
    unmap(0x10000, 0x2000, at(0, 1, 1));
    cr_expect_eq(heap.live, 0);
    finish();
}
