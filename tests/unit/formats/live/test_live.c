/* SPDX-License-Identifier: MIT */
/* Every test works in a folder of its own. What the reader makes of the file is compared with a
 * snapshot of the engine that wrote it. */
#include "formats/live/live_leaks.h"
#include "os/arena.h"
#include "os/file.h"
#include "folder.h"
#include "helpers.h"
#include "profile/texts.h"
#include "formats/live/live_reader.h"
#include "os/proc.h"
#include "engine/reaping.h"
#include "engine/resident.h"
#include "engine/stack_samples.h"
#include "snapshots.h"
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

struct fixture {
    struct test_mem test;
    struct clp_pages pages;
    struct clp_engine engine;
    struct clp_live live;
    struct clp_fault fault;
};

static const struct clp_live_header start = {
    .who.pid = 1234,
    .start = 5,
    .parts = CLP_PART_MEMORY,
    .rough_nanos = 1,
    .start_ticks = 100,
    .costs = {.line = 512, .enter = {256, 256}, .leave = {256, 256}},
    .python = "3.12.1",
    .tracer = "script",
};

TestSuite(live, .init = test_folder_enter, .fini = test_folder_remove);

static void begin(struct fixture *fixture)
{
    struct clp_mem *mem = test_mem_init(&fixture->test, 0);

    fixture->pages = (struct clp_pages){0};
    cr_assert_eq(clp_live_open(&fixture->live, &fixture->pages, mem, "x.live", &start,
                               &fixture->fault), CLP_OK);
    clp_engine_init(&fixture->engine, mem, &fixture->pages);
    fixture->engine.parts = CLP_PART_MEMORY;
    fixture->engine.functions.added = clp_live_note_function;
    fixture->engine.functions.listener = &fixture->live;
    clp_engine_set_costs(&fixture->engine, &start.costs);
}

static void end(struct fixture *fixture)
{
    clp_engine_clear(&fixture->engine);
    clp_pages_unmap(&fixture->pages, fixture->live.header, (size_t)fixture->live.header->bytes);
    clp_pages_close(&fixture->pages);
    test_mem_check_empty(&fixture->test);
}

static uint32_t add(struct fixture *fixture, const char *name, int32_t first_line)
{
    struct clp_function function = {.file = (char[]){"f.py"}, .name = (char *)(uintptr_t)name,
                                    .first_line = first_line, .lowest_line = first_line,
                                    .line_count = 4, .text = 1};
    uint32_t number;

    cr_assert_eq(clp_functions_add(&fixture->engine.functions, &function, &number), CLP_OK);
    return number;
}

static const char text[] = "def a():\n    b()\n    b()\n\n\ndef b():\n    x = 1\n    y = 2\n";

/* Two threads, in each a few finished calls and then a stack that is `depth` deep. Returns when the
 * last event was. */
static uint64_t record(struct fixture *fixture, int depth)
{
    uint32_t a = add(fixture, "a", 1), b = add(fixture, "b", 6);
    uint64_t now = 1000;

    clp_live_note_text(&fixture->live, 1, text, strlen(text));
    clp_live_note_command(&fixture->live, "prog.py 1");
    for (int i = 0; i < 2; i++) {
        struct clp_thread *thread = clp_engine_new_thread(&fixture->engine, now, 8192);
        for (int j = 0; j < 3; j++) {
            test_enter_line(thread, a, "frame a", 2, now += 10);
            test_enter_line(thread, b, "frame b", 7, now += 20);
            clp_engine_line(thread, 8, now += 100);
            clp_engine_note_rss(thread, 8192 + (j + 1) * 4096);
            clp_engine_leave(thread, now += 30);
            clp_engine_line(thread, 3, now += 10);
            clp_engine_leave(thread, now += 10);
        }
        for (int j = 0; j < depth; j++)
            test_enter_line(thread, j % 2 ? b : a, NULL, j % 2 ? 7 : 2, now += 7);
    }
    return now;
}

static clp_status read_file(struct clp_profile *profile, struct clp_mem *mem,
                            struct clp_live_about *about, struct clp_fault *fault)
{
    clp_profile_init(profile, mem);
    return clp_live_read("x.live", NULL, profile, about, fault);
}

static void check_equals_snapshot(struct fixture *fixture, uint64_t now)
{
    struct clp_profile profile, expected;
    struct clp_live_about about;
    struct test_mem test;

    cr_assert_eq(read_file(&profile, test_mem_init(&test, 0), &about, &fixture->fault), CLP_OK,
                 "%s", fixture->fault.reason);
    test_check_profile(&profile);
    clp_profile_init(&expected, &fixture->test.mem);
    for (struct clp_thread *at = fixture->engine.threads; at != NULL; at = at->next)
        clp_engine_unwind(at, now);
    cr_assert_eq(test_snapshot_take(&fixture->engine, 1, &expected), CLP_OK);
    cr_assert_eq(profile.function_count, expected.function_count);
    for (size_t i = 0; i < expected.function_count; i++) {
        struct clp_source_walk walk = {.text = {text, strlen(text)}};
        clp_profile_lend_source(&expected, &expected.functions[i],
                                clp_profile_find_source(&expected.functions[i], &walk));
        cr_expect(test_same_function(&profile.functions[i], &expected.functions[i]),
                  "function %s", expected.functions[i].name);
    }
    cr_assert_neq(expected.call_count, 0);
    cr_assert_eq(profile.call_count, expected.call_count);
    for (size_t i = 0; i < expected.call_count; i++) {
        const struct clp_profile_call *found = &profile.calls[i], *wanted = &expected.calls[i];
        cr_expect(found->parent == wanted->parent && found->line == wanted->line &&
                      found->function == wanted->function && found->calls == wanted->calls &&
                      found->time == wanted->time && found->again == wanted->again &&
                      found->increment == wanted->increment && found->through == wanted->through,
                  "call %zu", i);
    }
    cr_expect_eq(profile.meta.overhead, expected.meta.overhead);
    cr_expect_eq(profile.meta.events, expected.meta.events);
    clp_profile_clear(&expected);
    clp_profile_clear(&profile);
    test_mem_check_empty(&test);
}

Test(live, reads_what_the_engine_holds)
{
    struct fixture fixture;

    begin(&fixture);
    uint64_t now = record(&fixture, 0);
    check_equals_snapshot(&fixture, now);
    end(&fixture);
}

Test(live, ends_what_was_running_as_the_engine_would)
{
    struct fixture fixture;

    begin(&fixture);
    uint64_t now = record(&fixture, 1001); /* the stack has grown several times */
    check_equals_snapshot(&fixture, now);
    end(&fixture);
}

Test(live, threads_that_are_gone_count)
{
    struct fixture fixture;

    begin(&fixture);
    uint64_t now = record(&fixture, 3);
    fixture.engine.threads->ended = true;
    clp_engine_unwind(fixture.engine.threads, now);
    clp_engine_reap(&fixture.engine);
    check_equals_snapshot(&fixture, fixture.engine.threads->last); /* the other one's last event */
    end(&fixture);
}

/* Two looks; the second one has found one leak more. */
static void note_leaks(struct fixture *fixture)
{
    struct clp_profile_leak first = {.line = 7, .bytes = 5000, .margin = 20, .bytes_per_call = 100, .bytes_per_second = 2,
                                     .confidence = 0.75, .held_by = (char[]){"m.KEPT: list, 9 items"}};
    struct clp_profile_leak second = {.line = 2, .bytes = 1, .confidence = 1, .per_execution = true};
    const struct clp_live_leak found[] = {{1, &first}, {0, &second}};

    clp_live_note_leaks(&fixture->live, found, 1, "calls", 10);
    first.bytes = 6000;
    clp_live_note_leaks(&fixture->live, found, 2, "calls", 20);
}

Test(live, the_last_look_for_leaks_counts)
{
    struct fixture fixture;
    struct clp_live_about about;
    struct clp_profile profile;
    struct clp_mem mem = clp_mem_system();

    begin(&fixture);
    (void)record(&fixture, 0);
    note_leaks(&fixture);
    cr_assert_eq(read_file(&profile, &mem, &about, &fixture.fault), CLP_OK, "%s", fixture.fault.reason);
    cr_expect_str_eq(profile.meta.leak_epoch, "calls");
    cr_expect_eq(profile.meta.leak_epochs, 20);
    cr_assert_eq(profile.functions[0].leak_count, 1);
    cr_assert_eq(profile.functions[1].leak_count, 1);
    const struct clp_profile_leak *a = &profile.functions[0].leaks[0], *b = &profile.functions[1].leaks[0];
    cr_expect(a->line == 2 && a->bytes == 1 && a->per_execution && a->held_by == NULL);
    cr_expect(b->line == 7 && b->bytes == 6000 && b->margin == 20 && b->bytes_per_call == 100 &&
              b->bytes_per_second == 2 && b->confidence == 0.75 && !b->per_execution);
    cr_expect_str_eq(b->held_by, "m.KEPT: list, 9 items");
    clp_profile_clear(&profile);
    clp_live_note_leaks(&fixture.live, NULL, 0, "0.5", 3);
    cr_assert_eq(read_file(&profile, &mem, &about, &fixture.fault), CLP_OK);
    cr_expect_str_eq(profile.meta.leak_epoch, "0.5");
    cr_expect_eq(profile.functions[0].leak_count + profile.functions[1].leak_count, 0);
    clp_profile_clear(&profile);
    end(&fixture);
}

Test(live, knows_whose_it_is_and_what_was_in_flight)
{
    struct fixture fixture;
    struct clp_live_about about;
    struct clp_profile profile;
    struct clp_mem mem = clp_mem_system();

    begin(&fixture);
    fixture.live.header->locked = 0;
    fixture.live.header->who = (struct clp_identity){.boot = "none"};
    (void)record(&fixture, 2);
    cr_assert_eq(read_file(&profile, &mem, &about, &fixture.fault), CLP_OK);
    cr_expect(!about.running && !about.torn && !about.incomplete);
    cr_expect_str_eq(profile.meta.python, "3.12.1");
    cr_expect_str_eq(profile.meta.tracer, "script");
    cr_expect_str_eq(profile.meta.command, "prog.py 1");
    for (size_t i = 0; i < profile.function_count; i++) {
        for (size_t j = 0; j < profile.functions[i].line_count; j++) {
            int32_t line = profile.functions[i].lines[j].line;
            cr_expect_eq(profile.functions[i].lines[j].running, line == 2 || line == 7);
        }
    }
    clp_profile_clear(&profile);
    clp_identity_here(&fixture.live.header->who);
    cr_assert_eq(read_file(&profile, &mem, &about, &fixture.fault), CLP_OK);
    cr_expect(about.running, "this process has the file mapped");
    clp_profile_clear(&profile);
    end(&fixture);
}

/* As if the copy had been taken while the process left a function. */
Test(live, a_torn_copy_is_noticed_and_harmless)
{
    struct fixture fixture;
    struct clp_live_about about;
    struct clp_profile profile;
    struct clp_mem mem = clp_mem_system();

    begin(&fixture);
    (void)record(&fixture, 3);
    fixture.engine.threads->top -= 2;
    cr_assert_eq(read_file(&profile, &mem, &about, &fixture.fault), CLP_OK);
    cr_expect(about.torn);
    clp_profile_clear(&profile);
    fixture.engine.threads->top += 2;
    end(&fixture);
}

static int damaged; /* so many of the next readings of a live file get a header that cannot be */

ssize_t read(int file, void *bytes, size_t count)
{
    ssize_t got = syscall(SYS_read, file, bytes, count);

    if (damaged > 0 && got >= (ssize_t)sizeof(struct clp_live_header) && clp_live_is(bytes, (size_t)got)) {
        ((struct clp_live_header *)bytes)->bytes = 1;
        damaged--;
    }
    return got;
}

/* As if the copy had been taken in the middle of a write. */
Test(live, a_copy_that_cannot_be_read_is_taken_again_while_the_process_runs)
{
    static const struct {
        bool runs;
        int damaged;
        clp_status status;
    } cases[] = {{true, 2, CLP_OK}, {true, 3, CLP_CORRUPT}, {false, 1, CLP_CORRUPT}};
    struct fixture fixture;
    struct clp_live_about about;
    struct clp_profile profile;
    struct clp_mem mem = clp_mem_system();

    begin(&fixture);
    (void)record(&fixture, 3);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture.live.header->who = start.who;
        fixture.live.header->locked = cases[i].runs;
        if (cases[i].runs)
            clp_identity_here(&fixture.live.header->who);
        damaged = cases[i].damaged;
        cr_expect_eq(read_file(&profile, &mem, &about, &fixture.fault), cases[i].status, "%zu", i);
        cr_expect_eq(damaged, 0, "%zu", i);
        clp_profile_clear(&profile);
    }
    end(&fixture);
}

/* ---- damage ---- */

static void take_file(struct clp_buf *bytes)
{
    struct clp_fault fault;

    cr_assert_eq(clp_file_read("x.live", SIZE_MAX, bytes, &fault), CLP_OK);
}

/* Samples of the functions that `record` has added, in which they call each other. */
static void sample(struct fixture *fixture, struct clp_stack_samples *samples)
{
    const struct clp_sampled_line lines[] = {{1, 1}, {0, 1}, {1, 2}, {0, 2}};
    const struct clp_sampled_stack stack = {.lines = lines, .count = 4}, outer = {.lines = lines + 1, .count = 3};

    clp_stack_samples_init(samples, &fixture->engine);
    for (uint32_t i = 0; i < 2; i++)
        cr_assert_eq(clp_stack_samples_make(samples, i), CLP_OK);
    clp_stack_samples_add(samples, &stack, 1000, CLP_SAMPLED_WAITS);
    clp_stack_samples_add(samples, &outer, 500, CLP_SAMPLED_RUNS);
}

/* Samples that nobody has settled yet count as if somebody had. */
Test(live, samples_count)
{
    struct fixture fixture;
    struct clp_stack_samples samples;
    struct clp_mem mem = clp_mem_system();
    struct clp_buf bytes;

    clp_buf_init(&bytes, &mem);
    begin(&fixture);
    uint64_t now = record(&fixture, 0);
    sample(&fixture, &samples);
    take_file(&bytes);
    clp_stack_samples_settle(&samples, fixture.engine.threads);
    (void)unlink("x.live"); /* the process still has it; readers get the one from before */
    FILE *file = fopen("x.live", "w");
    cr_assert_eq(fwrite(clp_buf_text(&bytes), 1, bytes.used, file), bytes.used);
    (void)fclose(file);
    clp_buf_clear(&bytes);
    check_equals_snapshot(&fixture, now);
    clp_stack_samples_clear(&samples);
    end(&fixture);
}

static clp_status decode(const struct clp_buf *bytes, struct test_mem *test)
{
    struct clp_live_about about;
    struct clp_pages pages = {0};
    struct clp_profile profile;
    struct clp_fault fault;

    clp_profile_init(&profile, &test->mem);
    clp_status status = clp_live_decode(bytes, 0, &pages, &profile, &about, &fault);
    cr_assert_leq(fault.offset, bytes->used);
    if (status == CLP_OK)
        test_check_profile(&profile);
    else
        cr_assert_eq(fault.status, status);
    clp_profile_clear(&profile);
    cr_assert_eq(pages.bytes, 0);
    return status;
}

static void write_and_take(struct clp_buf *bytes)
{
    struct fixture fixture;
    struct clp_stack_samples samples;

    begin(&fixture);
    (void)record(&fixture, 5);
    note_leaks(&fixture);
    sample(&fixture, &samples);
    take_file(bytes);
    clp_stack_samples_clear(&samples);
    end(&fixture);
}

Test(live, cut_off_anywhere_it_is_refused)
{
    struct test_mem test;
    struct clp_mem mem = clp_mem_system();
    struct clp_buf bytes;

    clp_buf_init(&bytes, &mem);
    write_and_take(&bytes);
    size_t whole = bytes.used;
    test_mem_init(&test, 0);
    for (size_t used = 1; used < whole; used += used % 4096 == 0 ? 1 : used < 5000 ? 13 : 4096 - used % 4096) {
        bytes.used = used;
        cr_expect_eq(decode(&bytes, &test), CLP_TRUNCATED, "at byte %zu", used);
    }
    bytes.used = 0;
    cr_expect_eq(decode(&bytes, &test), CLP_NOT_BEGUN);
    test_mem_check_empty(&test);
    bytes.used = whole;
    cr_assert_eq(decode(&bytes, &test), CLP_OK);
    clp_buf_clear(&bytes);
}

/* Each word of the file in turn; of those that are 0 the header's alone, for most others are free space. */
Test(live, whatever_is_damaged_nothing_breaks, .timeout = 120)
{
    static const uint64_t values[] = {1, UINT64_MAX, UINT64_C(0x8000000000000000), 0x100000040};
    struct test_mem test;
    struct clp_mem mem = clp_mem_system();
    struct clp_buf bytes;
    size_t tried = 0;

    clp_buf_init(&bytes, &mem);
    write_and_take(&bytes);
    test_mem_init(&test, 0);
    for (size_t at = 0; at + 8 <= bytes.used; at += 8) {
        uint64_t before;
        memcpy(&before, bytes.bytes + at, 8);
        if (before == 0 && at >= sizeof(struct clp_live_header))
            continue;
        tried++;
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            memcpy(bytes.bytes + at, &values[i], 8);
            (void)decode(&bytes, &test);
        }
        memcpy(bytes.bytes + at, &before, 8);
    }
    cr_expect_gt(tried, 200);
    test_mem_check_empty(&test);
    clp_buf_clear(&bytes);
}

static void spoil_thread(struct clp_thread *thread, uint64_t value, struct clp_block *shared)
{
    for (size_t i = 0; i < thread->block_room; i++) {
        struct clp_block *block = thread->blocks[i];
        uint32_t lines = block != NULL ? block->line_count : 0;
        for (uint32_t j = 0; j < lines; j++) {
            block->cells[j] = (struct clp_cell){
                .open = block->cells[j].open, .hits = value, .self = value,
                .nested = (int64_t)value, .max = (int64_t)value,
                .self_correction = (int64_t)value, .nested_correction = (int64_t)value, .await = value};
            block->rss[j] = (struct clp_rss_cell){(int64_t)value, (int64_t)value, (int64_t)value, (int64_t)value};
        }
    }
    thread->correction = thread->others_grown = thread->others_released = (int64_t)value;
    thread->rss = (int64_t)value;
    for (struct clp_activation *at = thread->stack + 1; at <= thread->top; at++) {
        at->start_rss = at->entry_cost = (int64_t)value;
        at->special = true;
        at->start_correction = at->entered_correction = -1;
        at->start = at->entered = 0;
        at->block = shared != NULL ? shared : at->block;
        at->cell = shared != NULL ? shared->cells : at->cell;
    }
}

/* Costs and counters of many deep stacks, whose sums would not fit: meant for UndefinedBehaviorSanitizer. */
Test(live, damaged_all_over_no_sum_overflows)
{
    static const uint64_t values[] = {INT64_MAX, UINT64_C(1) << 63, UINT64_C(3) << 61, UINT64_MAX};
    const size_t count = sizeof values / sizeof *values;
    struct clp_mem mem = clp_mem_system();
    struct fixture fixture;
    struct test_mem test;

    begin(&fixture);
    uint32_t a = add(&fixture, "a", 1), b = add(&fixture, "b", 6);
    for (int i = 0; i < 150; i++) {
        struct clp_thread *thread = clp_engine_new_thread(&fixture.engine, 1000, 8192);
        for (int j = 0; j < 300; j++)
            test_enter_line(thread, j % 2 ? b : a, NULL, j % 2 ? 7 : 2, 1000 + (uint64_t)j);
    }
    test_mem_init(&test, 0);
    for (size_t i = 0; i < 2 * count; i++) {
        struct clp_buf bytes;
        /* at last all stacks lie in the same counters */
        struct clp_block *shared = i >= count ? fixture.engine.threads->blocks[0] : NULL;
        uint64_t *costs = (uint64_t *)&fixture.live.header->costs;
        for (size_t j = 0; j < sizeof(struct clp_costs) / sizeof *costs; j++)
            costs[j] = values[i % count];
        for (struct clp_thread *at = fixture.engine.threads; at != NULL; at = at->next)
            spoil_thread(at, values[i % count], shared);
        clp_buf_init(&bytes, &mem);
        take_file(&bytes);
        cr_expect_eq(decode(&bytes, &test), CLP_OK);
        clp_buf_clear(&bytes);
    }
    test_mem_check_empty(&test);
    end(&fixture);
}

/* The bytes of the file where the record of the function lies that is called `name` and has so many lines. */
static struct clp_live_record *record_of(struct clp_buf *bytes, const char *name, size_t line_count)
{
    size_t count = strlen(name) + 1;

    for (size_t at = sizeof(struct clp_live_header); at + count <= bytes->used; at++)
        if (memcmp(bytes->bytes + at, name, count) == 0)
            return (struct clp_live_record *)(bytes->bytes + at - strlen("f.py") - 1 - line_count * sizeof(int32_t) -
                                              sizeof(struct clp_live_function) -
                                              sizeof(struct clp_live_record));
    return NULL;
}

Test(live, how_many_instructions_lines_have_is_kept)
{
    struct clp_function function = {.file = (char[]){"f.py"}, .name = (char[]){"counted"}, .first_line = 1,
                                    .lowest_line = 1, .line_count = 3, .text = 1,
                                    .instructions = (uint8_t[]){0, 40, 0}};
    struct clp_mem mem = clp_mem_system();
    struct clp_live_about about;
    struct clp_profile profile;
    struct fixture fixture;
    struct test_mem test;
    struct clp_buf bytes;
    uint32_t number;

    begin(&fixture);
    fixture.live.header->costs.instruction = 1000 * CLP_CORRECTION_ONE;
    cr_assert_eq(clp_functions_add(&fixture.engine.functions, &function, &number), CLP_OK);
    struct clp_thread *thread = clp_engine_new_thread(&fixture.engine, 0, 0);
    test_enter_line(thread, number, NULL, 2, 0);
    clp_engine_leave(thread, 100000);
    test_mem_init(&test, 0);
    thread->blocks[number]->cells[1].self_correction = 100000 * CLP_CORRECTION_ONE;
    cr_assert_eq(read_file(&profile, &test.mem, &about, &fixture.fault), CLP_OK);
    cr_expect_eq(profile.functions[0].lines[0].measures.self, 40000);
    clp_profile_clear(&profile);
    clp_buf_init(&bytes, &mem);
    take_file(&bytes);
    struct clp_live_record *found = record_of(&bytes, "counted", 3);
    cr_assert_not_null(found);
    cr_assert_eq(decode(&bytes, &test), CLP_OK);
    while (found->bytes-- > 0)
        cr_expect_eq(decode(&bytes, &test), CLP_CORRUPT, "%zu bytes", (size_t)found->bytes);
    clp_buf_clear(&bytes);
    test_mem_check_empty(&test);
    end(&fixture);
}

Test(live, want_of_memory_is_told_and_leaves_nothing)
{
    struct test_mem test;
    struct clp_mem mem = clp_mem_system();
    struct clp_buf bytes;
    size_t at = 0;

    clp_buf_init(&bytes, &mem);
    write_and_take(&bytes);
    do {
        test_mem_init(&test, ++at);
        clp_status status = decode(&bytes, &test);
        cr_assert_eq(status, test_mem_failed(&test) ? CLP_NO_MEMORY : CLP_OK);
        test_mem_check_empty(&test);
    } while (test_mem_failed(&test));
    cr_expect_gt(at, 10);
    clp_buf_clear(&bytes);
}

/* ---- a file that cannot grow ---- */

static void limit_files(rlim_t bytes)
{
    struct rlimit limit = {bytes, RLIM_INFINITY};

    signal(SIGXFSZ, SIG_DFL);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

Test(live, a_file_that_cannot_begin_is_taken_away)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_pages pages = {0};
    struct clp_live live = {0};
    struct clp_fault fault;

    limit_files(100);
    cr_assert_eq(clp_live_open(&live, &pages, &mem, "x.live", &start, &fault), CLP_IO);
    limit_files(RLIM_INFINITY);
    cr_expect_eq(fault.os_error, EFBIG);
    cr_expect_neq(access("x.live", F_OK), 0);
    cr_expect(live.pages == NULL && pages.bytes == 0 && !clp_pages_in_file(&pages));
}

Test(live, a_file_that_cannot_grow_says_so_and_nothing_is_lost)
{
    struct fixture fixture;
    struct clp_live_about about;
    struct clp_profile profile;
    struct clp_mem mem = clp_mem_system();
    char name[16];

    begin(&fixture);
    struct clp_thread *thread = clp_engine_new_thread(&fixture.engine, 0, 0);
    limit_files(400000);
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "f%d", i);
        uint32_t number = add(&fixture, name, i);
        test_enter_line(thread, number, NULL, i, 10 * (uint64_t)i);
        clp_engine_leave(thread, 10 * (uint64_t)i + 5);
    }
    limit_files(RLIM_INFINITY);
    cr_expect_eq(clp_live_error(&fixture.live), EFBIG);
    for (uint32_t i = 0; i < 5000; i++)
        cr_assert_eq(thread->blocks[i]->cells[0].hits, 1);
    cr_assert_eq(read_file(&profile, &mem, &about, &fixture.fault), CLP_OK);
    cr_expect(about.incomplete);
    cr_expect(profile.function_count > 100 && profile.function_count < 5000);
    clp_profile_clear(&profile);
    end(&fixture);
}

/* ---- pages of a file ---- */

Test(live, the_file_that_is_there_is_not_touched)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_pages pages = {0};
    struct clp_fault fault;

    cr_assert_eq(clp_file_write("x.live", &(struct clp_file_content){"mine", 4, 0666}, &fault), CLP_OK);
    cr_assert_eq(clp_pages_open(&pages, &mem, "x.live", &fault), CLP_IO);
    cr_expect_eq(fault.os_error, EEXIST);
    cr_expect_eq(mem.bytes, 0);
}

Test(live, a_file_put_in_its_place_is_neither_grown_nor_removed)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_pages pages = {0};
    struct clp_fault fault;
    size_t mapped;

    cr_assert_eq(clp_pages_open(&pages, &mem, "x.live", &fault), CLP_OK);
    void *first = clp_pages_map(&pages, 1, &mapped); /* the descriptor of the beginning is used up */
    cr_assert_eq(pages.error, 0);
    cr_assert_eq(rename("x.live", "y.live"), 0); /* so that its number is not free again */
    cr_assert_eq(clp_file_write("x.live", &(struct clp_file_content){"mine", 4, 0666}, &fault), CLP_OK);
    char *block = clp_pages_map(&pages, 1, &mapped);
    cr_assert_not_null(block);
    cr_expect_eq(pages.error, ESTALE);
    clp_pages_remove(&pages, "x.live");
    cr_expect_eq(access("x.live", F_OK), 0);
    clp_pages_unmap(&pages, block, mapped);
    clp_pages_unmap(&pages, first, mapped);
    clp_pages_close(&pages);
    cr_expect_eq(mem.bytes, 0);
}

/* A child leaves its parent's path to the system; where the test can see it, valgrind finds no fault
 * with that. */
static void become_child(struct clp_pages *pages)
{
    static char *volatile path;

    path = pages->path;
    clp_pages_fork_child(pages);
    (void)path;
}

Test(live, a_child_of_a_fork_has_its_own_memory)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_pages pages = {0};
    struct clp_fault fault;
    size_t mapped;
    int status;

    cr_assert_eq(clp_pages_open(&pages, &mem, "x.live", &fault), CLP_OK);
    char *block = clp_pages_map(&pages, 100000, &mapped);
    block[5] = 7;
    clp_pages_fork_prepare(&pages);
    block[6] = 1; /* what the parent does before the child is on its way */
    pid_t child = fork();
    if (child == 0) {
        become_child(&pages);
        bool good = block[5] == 7 && block[6] == 0 && pages.filed == 0;
        memset(block, 9, mapped);
        _exit(good ? 0 : 1);
    }
    clp_pages_fork_parent(&pages);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0);
    cr_expect(block[5] == 7 && block[6] == 1 && block[7] == 0);
    clp_pages_unmap(&pages, block, mapped);
    clp_pages_close(&pages);
    cr_expect_eq(mem.bytes, 0);
}

/* At the same addresses, in the order of the parent's; what one writes the other does not see. */
Test(live, a_child_of_a_fork_may_have_a_file_of_its_own)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_pages pages = {0};
    struct clp_fault fault;
    struct clp_buf bytes;
    size_t one, two, dropped;
    int status;

    cr_assert_eq(clp_pages_open(&pages, &mem, "x.live", &fault), CLP_OK);
    char *first = clp_pages_map(&pages, 5000, &one);
    char *gone = clp_pages_map(&pages, 5000, &dropped);
    char *second = clp_pages_map(&pages, 9000, &two);
    first[0] = 'a';
    second[0] = 'b';
    clp_pages_unmap(&pages, gone, dropped);
    clp_pages_fork_prepare(&pages);
    pid_t child = fork();
    if (child == 0) {
        become_child(&pages);
        bool good = clp_pages_fork_file(&pages, "y.live", &fault) == CLP_OK &&
                    clp_pages_in_file(&pages) && first[0] == 'a' && second[0] == 'b';
        first[1] = 'c';
        char *more = clp_pages_map(&pages, 1, &dropped);
        more[0] = 'd';
        clp_pages_fork_prepare(&pages); /* it may fork, too */
        good = good && clp_pages_fork_file(&pages, "x.live", &fault) == CLP_IO &&
               fault.os_error == EEXIST;
        _exit(good ? 0 : 1);
    }
    clp_pages_fork_parent(&pages);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0);
    cr_expect_eq(first[1], 0);
    clp_buf_init(&bytes, &mem);
    cr_assert_eq(clp_file_read("y.live", 1 << 20, &bytes, &fault), CLP_OK);
    cr_assert_eq(bytes.used, one + two + (size_t)sysconf(_SC_PAGESIZE));
    cr_expect(bytes.bytes[0] == 'a' && bytes.bytes[1] == 'c' && bytes.bytes[one] == 'b' &&
              bytes.bytes[one + two] == 'd');
    clp_buf_clear(&bytes);
    clp_pages_unmap(&pages, first, one);
    clp_pages_unmap(&pages, second, two);
    clp_pages_close(&pages);
    cr_expect_eq(mem.bytes, 0);
}

/* Makes this process a child's, without a fork: the file stays as it is. */
static void go_on_as_child(struct fixture *fixture)
{
    char *path = fixture->pages.path;

    clp_pages_fork_prepare(&fixture->pages);
    clp_pages_fork_child(&fixture->pages);
    clp_mem_free_text(&fixture->test.mem, path);
    cr_assert_eq(rename("x.live", "parent.live"), 0);
}

/* Counters and records that need more memory before the file is made must be in it. */
Test(live, what_a_child_records_before_it_has_a_file_is_in_the_file)
{
    enum { MORE = 1500 };
    struct fixture fixture;
    struct clp_live_about about;
    struct clp_profile profile;
    struct clp_mem mem = clp_mem_system();
    char name[16];

    begin(&fixture);
    uint64_t now = record(&fixture, 2);
    go_on_as_child(&fixture);
    uint64_t bytes = fixture.pages.bytes;
    struct clp_thread *thread = clp_engine_new_thread(&fixture.engine, now, 0);
    for (int i = 0; i < MORE; i++) {
        snprintf(name, sizeof name, "more_%d", i);
        test_enter_line(thread, add(&fixture, name, 6), NULL, 7, now += 10);
        clp_engine_leave(thread, now += 5);
    }
    cr_assert_gt(fixture.pages.bytes, bytes + 256 * 1024, "a new chunk");
    cr_assert_eq(clp_live_fork(&fixture.live, "x.live", &start, &fixture.fault), CLP_OK);
    test_enter_line(thread, add(&fixture, "last", 6), NULL, 7, now += 10);
    clp_engine_leave(thread, now += 5);
    check_equals_snapshot(&fixture, now);
    cr_assert_eq(read_file(&profile, &mem, &about, &fixture.fault), CLP_OK);
    cr_expect_eq(profile.function_count, 2 + MORE + 1);
    cr_expect_str_eq(profile.functions[2 + MORE].name, "last");
    clp_profile_clear(&profile);
    end(&fixture);
}

Test(live, what_a_child_gives_back_before_it_has_a_file_is_not_in_it)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_pages pages = {0};
    struct clp_fault fault;
    struct clp_buf bytes;
    size_t mapped, more;

    cr_assert_eq(clp_pages_open(&pages, &mem, "x.live", &fault), CLP_OK);
    char *first = clp_pages_map(&pages, 1, &mapped), *second = clp_pages_map(&pages, 1, &mapped);
    char *path = pages.path;
    clp_pages_fork_prepare(&pages);
    clp_pages_fork_child(&pages);
    char *third = clp_pages_map(&pages, 1, &mapped), *fourth = clp_pages_map(&pages, 1, &more);
    second[0] = 'b';
    fourth[0] = 'd';
    clp_pages_unmap(&pages, first, mapped);
    clp_pages_unmap(&pages, third, mapped);
    cr_assert_eq(clp_pages_fork_file(&pages, "y.live", &fault), CLP_OK);
    fourth[1] = 'e';
    cr_expect_eq(pages.filed, 2 * mapped);
    clp_buf_init(&bytes, &mem);
    cr_assert_eq(clp_file_read("y.live", 1 << 20, &bytes, &fault), CLP_OK);
    cr_assert_eq(bytes.used, 2 * mapped);
    cr_expect(bytes.bytes[0] == 'b' && bytes.bytes[mapped] == 'd' && bytes.bytes[mapped + 1] == 'e');
    clp_buf_clear(&bytes);
    clp_pages_unmap(&pages, second, mapped);
    clp_pages_unmap(&pages, fourth, more);
    clp_pages_close(&pages);
    clp_mem_free_text(&mem, path);
    cr_expect_eq(mem.bytes, 0);
}

/* The parent's later counters are in no file, so the child's file could not be right. */
Test(live, a_child_of_a_process_whose_file_is_full_gets_none)
{
    struct fixture fixture;

    begin(&fixture);
    (void)record(&fixture, 2);
    limit_files(100000);
    while (clp_live_error(&fixture.live) == 0)
        (void)clp_engine_new_thread(&fixture.engine, 0, 0);
    limit_files(RLIM_INFINITY);
    clp_pages_fork_prepare(&fixture.pages);
    clp_pages_fork_child(&fixture.pages);
    cr_expect_eq(clp_live_fork(&fixture.live, "y.live", &start, &fixture.fault), CLP_IO);
    cr_expect_eq(fixture.fault.os_error, EFBIG);
    cr_expect_neq(access("y.live", F_OK), 0);
    end(&fixture);
}

Test(live, what_was_recorded_before_the_file_is_in_it)
{
    struct fixture fixture = {0};
    struct clp_mem *mem = test_mem_init(&fixture.test, 0);

    clp_engine_init(&fixture.engine, mem, &fixture.pages);
    fixture.engine.parts = CLP_PART_MEMORY;
    clp_engine_set_costs(&fixture.engine, &start.costs);
    uint64_t now = record(&fixture, 4);
    cr_assert_eq(clp_live_open(&fixture.live, &fixture.pages, mem, "x.live", &start, &fixture.fault), CLP_OK);
    cr_assert_eq(clp_live_adopt(&fixture.live, &fixture.engine, &fixture.fault), CLP_OK);
    for (uint32_t i = 0; i < fixture.engine.functions.count; i++)
        clp_live_note_own(&fixture.live, i);
    clp_live_note_text(&fixture.live, 1, text, strlen(text));
    clp_live_note_command(&fixture.live, "prog.py 1");
    check_equals_snapshot(&fixture, now);
    clp_live_close(&fixture.live);
    cr_expect_null(fixture.live.pages);
    cr_expect_eq(fixture.pages.filed, 0);
    clp_engine_clear(&fixture.engine); /* what it holds is in memory */
    cr_expect_eq(fixture.pages.bytes, 0);
    test_mem_check_empty(&fixture.test);
}

Test(live, a_process_is_known_by_the_files_that_it_maps)
{
    char boot[40];

    cr_assert_eq(system("echo mine > x.live"), 0);
    cr_expect(!clp_proc_maps((uint64_t)getpid(), "x.live"), "alive, but without the file");
    cr_expect(!clp_proc_maps(0, "x.live"));
    cr_expect(!clp_proc_maps(UINT64_MAX, "x.live"));
    cr_expect(!clp_proc_maps((uint64_t)getpid(), "missing"));
    clp_proc_boot(boot, sizeof boot);
    cr_expect_geq(strlen(boot), 30);
}

/* ---- the arena that reads them ---- */

Test(live, an_arena_starts_anew_with_the_pages_it_has)
{
    struct clp_pages pages = {0};
    struct clp_arena arena;
    uint64_t bytes = 0;

    clp_arena_init(&arena, &pages);
    for (int round = 0; round < 3; round++) {
        struct clp_buf buf;
        char *small = clp_mem_alloc(&arena.mem, 3, 1), *other = clp_mem_alloc(&arena.mem, 3, 1);
        cr_assert(small != NULL && other != NULL && other >= small + 3);
        cr_assert_eq((uintptr_t)other % 16, 0);
        memcpy(small, "abc", 3);
        memcpy(other, "def", 3);
        clp_buf_init(&buf, &arena.mem);
        for (int i = 0; i < 300000; i++)
            clp_buf_add(&buf, "0123456789", 10);
        cr_assert(!buf.failed && buf.used == 3000000);
        for (size_t i = 0; i < buf.used; i += 10)
            cr_assert_eq(memcmp(buf.bytes + i, "0123456789", 10), 0);
        cr_assert_eq(memcmp(small, "abc", 3), 0);
        cr_assert_eq(memcmp(other, "def", 3), 0);
        clp_buf_clear(&buf);
        cr_assert(round == 0 || bytes == pages.bytes, "it took more pages");
        bytes = pages.bytes;
        clp_arena_reset(&arena);
    }
}

Test(live, pages_that_are_kept_serve_the_next_of_their_size)
{
    struct clp_pages pages = {.keeps = true};
    size_t one, two;
    char *first = clp_pages_map(&pages, 5000, &one), *second = clp_pages_map(&pages, 9000, &two);
    uint64_t bytes = pages.bytes;

    memset(first, 1, one);
    memset(second, 1, two);
    clp_pages_unmap(&pages, first, one);
    clp_pages_unmap(&pages, second, two);
    cr_assert_eq(clp_pages_map(&pages, 5001, &one), first);
    for (size_t i = 0; i < one; i++)
        cr_assert_eq(first[i], 0);
    cr_assert_neq(clp_pages_map(&pages, 5002, &one), second);
    cr_assert_eq(pages.bytes, bytes + one);
}
