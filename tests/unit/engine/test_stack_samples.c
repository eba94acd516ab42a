/* SPDX-License-Identifier: MIT */
#include "engine/engine.h"
#include "engine/stack_samples.h"
#include "engine/threads.h"
#include "helpers.h"
#include <stdio.h>

#define LINES 8

enum { F, G, FUNCTIONS };

struct fixture {
    struct test_mem test;
    struct clp_pages pages;
    struct clp_engine engine;
    struct clp_thread *thread;
    struct clp_stack_samples samples;
};

static void add_function(struct fixture *fixture, uint32_t expected)
{
    char name[16];
    uint32_t number = UINT32_MAX;

    (void)snprintf(name, sizeof name, "f%u", expected);
    struct clp_function function = {.file = (char[]){"f.py"}, .name = name, .line_count = LINES};
    cr_assert_eq(clp_functions_add(&fixture->engine.functions, &function, &number), CLP_OK);
    cr_assert_eq(number, expected);
    cr_assert_eq(clp_stack_samples_make(&fixture->samples, number), CLP_OK);
}

static void begin(struct fixture *fixture)
{
    struct clp_mem *mem = test_mem_init(&fixture->test, 0);

    fixture->pages = (struct clp_pages){0};
    clp_engine_init(&fixture->engine, mem, &fixture->pages);
    fixture->engine.parts = CLP_PART_LIGHT;
    fixture->thread = clp_engine_new_thread(&fixture->engine, 0, 0);
    clp_stack_samples_init(&fixture->samples, &fixture->engine);
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        add_function(fixture, i);
}

static void end(struct fixture *fixture)
{
    clp_stack_samples_clear(&fixture->samples);
    clp_engine_clear(&fixture->engine);
    cr_expect_eq(fixture->pages.bytes, 0);
    cr_expect_eq(fixture->samples.pages.bytes, 0);
    test_mem_check_empty(&fixture->test);
}

#define STACK(...)                                                                                         \
    (const struct clp_sampled_stack)                                                                       \
    {                                                                                                      \
        .lines = (const struct clp_sampled_line[]){__VA_ARGS__},                                           \
        .count = sizeof((const struct clp_sampled_line[]){__VA_ARGS__}) / sizeof(struct clp_sampled_line), \
    }

#define ADD(fixture, weight, waits, ...)                                                                   \
    clp_stack_samples_add(&(fixture)->samples, &STACK(__VA_ARGS__), weight, waits)

static void settle(struct fixture *fixture)
{
    clp_stack_samples_settle(&fixture->samples, fixture->thread);
}

static struct clp_block *block_of(const struct fixture *fixture, uint32_t function)
{
    cr_assert(clp_engine_has_block(fixture->thread, function));
    return fixture->thread->blocks[function];
}

static void expect_line(const struct fixture *fixture, uint32_t function, uint32_t line, uint64_t self, int64_t nested)
{
    const struct clp_cell *cell = &block_of(fixture, function)->cells[line];

    cr_expect_eq(cell->self, self, "self time of line %u: %lu", line, (unsigned long)cell->self);
    cr_expect_eq(cell->nested, nested, "nested time of line %u: %ld", line, (long)cell->nested);
}

/* The engine's counts of a context: F, called by nobody, then each callee with the line that calls it. */
static struct clp_call_counts counts_of(struct fixture *fixture, size_t calls, const struct clp_sampled_line *path)
{
    struct clp_calls *tree = &fixture->engine.calls;
    struct clp_call *call = clp_calls_find(tree, clp_calls_root(tree, 0), 0, F);

    for (size_t i = 0; i < calls; i++)
        call = clp_calls_find(tree, call->home, clp_block_place(path[i].cell), path[i].function);
    return call->counts;
}

Test(stack_samples, a_line_has_its_own_time_and_that_of_calls)
{
    struct fixture fixture;

    begin(&fixture);
    ADD(&fixture, 10, false, {F, 1});
    ADD(&fixture, 100, false, {G, 4}, {F, 1});
    ADD(&fixture, 1000, false, {G, 5}, {F, 2});
    settle(&fixture);
    expect_line(&fixture, F, 1, 10, 100);
    expect_line(&fixture, F, 2, 0, 1000);
    expect_line(&fixture, G, 4, 100, 0);
    expect_line(&fixture, G, 5, 1000, 0);
    cr_expect_eq(block_of(&fixture, F)->total, 1110);
    cr_expect_eq(block_of(&fixture, G)->total, 1100);
    end(&fixture);
}

Test(stack_samples, contexts_are_told_apart)
{
    struct fixture fixture;

    begin(&fixture);
    ADD(&fixture, 100, false, {G, 4}, {F, 1});
    ADD(&fixture, 1000, false, {G, 4}, {F, 2});
    ADD(&fixture, 10, false, {G, 4});
    settle(&fixture);
    cr_expect_eq(counts_of(&fixture, 0, NULL).ticks, 1100);
    cr_expect_eq(counts_of(&fixture, 1, (struct clp_sampled_line[]){{G, 1}}).ticks, 100);
    cr_expect_eq(counts_of(&fixture, 1, (struct clp_sampled_line[]){{G, 2}}).ticks, 1000);
    cr_expect_eq(clp_calls_find(&fixture.engine.calls, clp_calls_root(&fixture.engine.calls, 0), 0, G)->counts.ticks, 10);
    end(&fixture);
}

static uint64_t calls_from(struct fixture *fixture, uint32_t line)
{
    return counts_of(fixture, 1, (struct clp_sampled_line[]){{G, line}}).ticks;
}

/* Of what a thread had left, the caller is the one of the next sample, and then of the last one, of which it is known. */
Test(stack_samples, what_was_left_has_the_caller_of_another_sample)
{
    struct clp_sampled_stack stack = STACK({G, 4}, {F, 2});
    struct fixture fixture;

    begin(&fixture);
    stack.left = 1;
    clp_stack_samples_add(&fixture.samples, &stack, 100, CLP_SAMPLED_RUNS);
    ADD(&fixture, 10, false, {G, 4}, {F, 1});
    clp_stack_samples_add(&fixture.samples, &stack, 1000, CLP_SAMPLED_RUNS);
    settle(&fixture);
    expect_line(&fixture, G, 4, 1110, 0);
    expect_line(&fixture, F, 2, 0, 1100);
    cr_expect_eq(block_of(&fixture, G)->total, 1110);
    cr_expect_eq(counts_of(&fixture, 0, NULL).ticks, 1110);
    cr_expect_eq(calls_from(&fixture, 1), 1110);
    cr_expect_eq(calls_from(&fixture, 2), 0);
    cr_expect_eq(clp_calls_find(&fixture.engine.calls, clp_calls_root(&fixture.engine.calls, 0), 0, G)->counts.ticks, 0);
    end(&fixture);
}

Test(stack_samples, where_no_sample_tells_the_caller_it_is_guessed)
{
    struct clp_sampled_stack stack = STACK({G, 4}, {F, 2});
    struct fixture fixture;

    begin(&fixture);
    stack.left = 1;
    clp_stack_samples_add(&fixture.samples, &stack, 100, CLP_SAMPLED_RUNS);
    settle(&fixture);
    cr_expect_eq(calls_from(&fixture, 2), 100);
    end(&fixture);
}

Test(stack_samples, a_doubtful_caller_counts_if_it_is_one_already)
{
    struct clp_sampled_stack doubtful = STACK({G, 4}, {F, 2});
    struct fixture fixture;

    begin(&fixture);
    doubtful.doubtful = true;
    clp_stack_samples_add(&fixture.samples, &doubtful, 100, CLP_SAMPLED_RUNS);
    ADD(&fixture, 10, false, {G, 4}, {F, 1});
    clp_stack_samples_add(&fixture.samples, &doubtful, 1000, CLP_SAMPLED_RUNS);
    settle(&fixture);
    cr_expect_eq(calls_from(&fixture, 1), 1110);
    cr_expect_eq(calls_from(&fixture, 2), 0);
    ADD(&fixture, 5, false, {G, 4}, {F, 2});
    ADD(&fixture, 20, false, {G, 4}, {F, 1});
    clp_stack_samples_add(&fixture.samples, &doubtful, 2000, CLP_SAMPLED_RUNS);
    settle(&fixture);
    expect_line(&fixture, G, 4, 3135, 0);
    cr_expect_eq(calls_from(&fixture, 1), 1130);
    cr_expect_eq(calls_from(&fixture, 2), 2005);
    end(&fixture);
}

/* F's line 1 calls F, whose line 1 calls F: the line and the function are on the stack three times. */
Test(stack_samples, recursion_counts_once)
{
    struct fixture fixture;

    begin(&fixture);
    ADD(&fixture, 100, false, {F, 3}, {F, 1}, {F, 1});
    ADD(&fixture, 10, false, {F, 1}, {F, 1});
    settle(&fixture);
    expect_line(&fixture, F, 1, 10, 100);
    expect_line(&fixture, F, 3, 100, 0);
    cr_expect_eq(block_of(&fixture, F)->total, 110);
    cr_expect_eq(counts_of(&fixture, 0, NULL).ticks, 110);
    struct clp_call_counts again = counts_of(&fixture, 1, (struct clp_sampled_line[]){{F, 1}});
    cr_expect_eq(again.ticks, 110);
    cr_expect_eq(again.again, 100);
    end(&fixture);
}

/* F -> G -> F -> G: what the inner F calls is below the outer one, and its edge is another one than that of the outer F. */
Test(stack_samples, mutual_recursion_is_folded)
{
    struct fixture fixture;

    begin(&fixture);
    ADD(&fixture, 100, false, {G, 6}, {F, 2}, {G, 5}, {F, 1});
    ADD(&fixture, 10, false, {G, 6}, {F, 1}, {G, 5}, {F, 1});
    settle(&fixture);
    expect_line(&fixture, F, 1, 0, 110);
    expect_line(&fixture, G, 5, 0, 110);
    expect_line(&fixture, G, 6, 110, 0);
    struct clp_call_counts outer = counts_of(&fixture, 1, (struct clp_sampled_line[]){{G, 1}});
    cr_expect_eq(outer.ticks, 110);
    cr_expect_eq(outer.again, 10);
    cr_expect_eq(counts_of(&fixture, 1, (struct clp_sampled_line[]){{G, 2}}).ticks, 100);
    cr_expect_eq(counts_of(&fixture, 2, (struct clp_sampled_line[]){{G, 1}, {F, 5}}).ticks, 110);
    cr_expect_eq(fixture.samples.count, 5); /* the root, F, both calls of G, and F as a leaf */
    end(&fixture);
}

Test(stack_samples, settling_again_adds_only_what_is_new)
{
    struct fixture fixture;

    begin(&fixture);
    ADD(&fixture, 100, true, {G, 4}, {F, 1});
    settle(&fixture);
    settle(&fixture);
    expect_line(&fixture, F, 1, 0, 100);
    ADD(&fixture, 10, true, {G, 4}, {F, 1});
    settle(&fixture);
    expect_line(&fixture, F, 1, 0, 110);
    expect_line(&fixture, G, 4, 110, 0);
    cr_expect_eq(clp_block_cpu(block_of(&fixture, G))[4].wait, 110);
    cr_expect_eq(block_of(&fixture, G)->total, 110);
    cr_expect_eq(counts_of(&fixture, 1, (struct clp_sampled_line[]){{G, 1}}).ticks, 110);
    end(&fixture);
}

Test(stack_samples, waiting_is_part_of_the_innermost_line)
{
    struct fixture fixture;

    begin(&fixture);
    ADD(&fixture, 100, true, {G, 4}, {F, 1});
    ADD(&fixture, 10, false, {G, 4}, {F, 1});
    settle(&fixture);
    expect_line(&fixture, G, 4, 110, 0);
    cr_expect_eq(clp_block_cpu(block_of(&fixture, G))[4].wait, 100);
    cr_expect_eq(clp_block_cpu(block_of(&fixture, F))[1].wait, 0);
    end(&fixture);
}

Test(stack_samples, squares_are_those_of_self_time)
{
    struct fixture fixture;

    begin(&fixture);
    ADD(&fixture, 3, false, {G, 4}, {F, 1});
    ADD(&fixture, 4, true, {G, 4}, {F, 1});
    settle(&fixture);
    settle(&fixture);
    cr_expect_float_eq(block_of(&fixture, G)->light[4].squares, 25, 1e-9);
    cr_expect_float_eq(block_of(&fixture, F)->light[1].squares, 0, 1e-9);
    end(&fixture);
}

#define MANY 600

/* Contexts beyond the room that was made lie in memory of the samples' own. None is lost. */
Test(stack_samples, contexts_find_room)
{
    struct fixture fixture;

    begin(&fixture);
    for (uint32_t i = FUNCTIONS; i < MANY; i++)
        add_function(&fixture, i);
    for (uint32_t i = FUNCTIONS; i < MANY; i++)
        ADD(&fixture, i, false, {i, 0}, {F, i % LINES});
    cr_expect_gt(fixture.samples.pages.bytes, 0);
    settle(&fixture);
    for (uint32_t i = FUNCTIONS; i < MANY; i++)
        cr_expect_eq(counts_of(&fixture, 1, (struct clp_sampled_line[]){{i, i % LINES}}).ticks, i);
    end(&fixture);
}

Test(stack_samples, memory_may_run_out)
{
    for (size_t fail_at = 1;; fail_at++) {
        struct fixture fixture;
        begin(&fixture);
        ADD(&fixture, 100, false, {G, 4}, {F, 1});
        fixture.test.fail_at = fixture.test.calls + fail_at;
        settle(&fixture);
        bool failed = fixture.test.calls >= fixture.test.fail_at;
        fixture.test.fail_at = 0;
        settle(&fixture);
        expect_line(&fixture, F, 1, 0, 100);
        expect_line(&fixture, G, 4, 100, 0);
        end(&fixture);
        if (!failed) {
            cr_expect_gt(fail_at, 1);
            break;
        }
    }
}
