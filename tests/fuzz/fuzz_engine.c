/* SPDX-License-Identifier: MIT */
/* Feeds the engine events decoded from bytes: any order, any frame, addresses used again at any
 * time, threads that end in the middle, memory that runs out. What must hold whatever comes:
 * nothing crashes, every tick of a thread went to one line or to the thread's bin, inclusive time
 * is no more than has passed, empty stacks leave nothing open, and nothing stays allocated.
 *
 * Built with -DCLP_LIBFUZZER -fsanitize=fuzzer it is a fuzzer; otherwise it replays the files given
 * as arguments, so that a corpus runs where there is none. */
#include "engine/engine.h"
#include "engine/reaping.h"
#include "engine/resident.h"
#include "engine/stacks.h"
#include "engine/threads.h"
#include "../unit/snapshots.h"
#include "replay.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { FUNCTIONS = 5, LINES = 3, THREADS = 3 };

struct input {
    const uint8_t *at, *end;
};

struct run {
    struct clp_mem mem; /* first: its context is the run */
    struct clp_pages pages;
    struct clp_engine engine;
    struct clp_thread *threads[THREADS];
    uint64_t born[THREADS];
    uint64_t now;
    size_t calls_left; /* of the allocator, before the one that fails; 0: none does */
};

static void *failing_resize(void *context, void *block, size_t old_bytes, size_t new_bytes)
{
    struct run *run = context;

    (void)old_bytes;
    if (new_bytes == 0) {
        free(block);
        return NULL;
    }
    if (run->calls_left != 0 && --run->calls_left == 0)
        return NULL;
    return realloc(block, new_bytes);
}

static unsigned next_byte(struct input *input)
{
    return input->at < input->end ? *input->at++ : 0;
}

static const void *next_frame(struct input *input)
{
    return (const void *)(uintptr_t)(4096 + 64 * (next_byte(input) % 24));
}

static void add_functions(struct run *run)
{
    for (int32_t i = 0; i < FUNCTIONS; i++) {
        char name[] = {(char)('a' + i), 0};
        struct clp_function function = {.file = (char[]){"f.py"}, .name = name,
                                        .first_line = 10 * i, .lowest_line = 10 * i,
                                        .line_count = i == 4 ? 0 : LINES, .generator = i > 1,
                                        .awaits = i > 2};
        uint32_t number;
        (void)clp_functions_add(&run->engine.functions, &function, &number);
    }
}

static void set_up(struct run *run, struct input *input)
{
    unsigned flags = next_byte(input);
    int64_t cost = flags & 1 ? next_byte(input) * INT64_C(64) : 0;
    const struct clp_costs costs = {.line = cost, .enter = {cost, 2 * cost}, .leave = {-cost / 2, 0},
                                    .suspend = {0, cost}, .resume = {cost, cost}, .last_line = cost,
                                    .work = cost / 4, .instruction = cost / 8, .foreign = cost};

    *run = (struct run){.mem = clp_mem_system()};
    run->mem.resize = failing_resize;
    run->mem.context = run;
    clp_engine_init(&run->engine, &run->mem, &run->pages);
    add_functions(run);
    clp_engine_set_costs(&run->engine, &costs);
    run->engine.parts = flags & 2 ? CLP_PART_MEMORY : 0;
    run->engine.rss_span = flags & 4 ? 50 : 0;
    run->calls_left = flags & 8 ? next_byte(input) + 1u : 0;
}

static struct clp_thread *thread_of(struct run *run, unsigned place)
{
    if (run->threads[place] == NULL) {
        run->threads[place] = clp_engine_new_thread(&run->engine, run->now, 0);
        run->born[place] = run->now;
    }
    return run->threads[place];
}

static void line(struct clp_thread *thread, struct input *input, uint64_t now)
{
    unsigned byte = next_byte(input);

    if (thread->top != thread->stack)
        clp_engine_line(thread, thread->top->block->lowest_line + (int32_t)(byte % (LINES + 1)),
                        now);
}

static void read_rss(const struct run *run, struct clp_thread *thread, unsigned byte)
{
    if (run->engine.parts != 0 && clp_engine_wants_rss(thread, run->now))
        clp_engine_note_rss(thread, (int64_t)(byte % 7) * 5000);
}

/* The sums hold for a thread as long as it lives. */
static void check_thread(const struct clp_thread *thread, uint64_t born, uint64_t now)
{
    uint64_t self = thread->outside.self;
    bool idle = thread->top == thread->stack;

    require(thread->top >= thread->stack && thread->top < thread->stack + thread->stack_room,
            "top is off the stack");
    require(!idle || thread->outside.open == 1, "the bin is left open");
    for (size_t i = 0; i < thread->block_room; i++) {
        const struct clp_block *block = thread->blocks[i];
        for (uint32_t j = 0; block != NULL && j < block->line_count; j++) {
            self += block->cells[j].self;
            require(!idle || block->cells[j].open == 0, "a line is left open");
            require(!idle || clp_cell_time(&block->cells[j]) <= now - born, "more than passed");
        }
        require(block == NULL || !idle || block->running == 0, "a function is left running");
        require(block == NULL || block->total <= now - born, "a total is more than passed");
    }
    require(self == thread->last - born, "ticks were lost or counted twice");
}

static void end_thread(struct run *run, unsigned place)
{
    run->threads[place]->ended = true;
    run->threads[place] = NULL;
    clp_engine_reap(&run->engine);
}

static void switch_stack(struct clp_thread *thread, struct input *input, uint64_t now)
{
    const void *from = next_frame(input), *to = next_frame(input);

    if (from != to)
        clp_engine_switch_stack(thread, from, to, now);
}

static void event(struct run *run, struct input *input)
{
    unsigned what = next_byte(input), more = next_byte(input), place = what / 16 % THREADS;
    uint32_t function = more % FUNCTIONS;
    struct clp_thread *thread = thread_of(run, place);

    run->now += more / 8;
    if (thread == NULL)
        return;
    read_rss(run, thread, more);
    switch (what % 16) {
    case 0: case 1: (void)clp_engine_enter(thread, function, next_frame(input), run->now); break;
    case 2: case 3: clp_engine_leave(thread, run->now); break;
    case 4: case 5: clp_engine_suspend(thread, run->now); break;
    case 6: case 7: (void)clp_engine_resume(thread, function, next_frame(input), run->now); break;
    case 8: (void)clp_engine_align(thread, function, next_frame(input), run->now); break;
    case 9: clp_engine_add_cost(thread, run->engine.costs.foreign); break;
    case 10: clp_engine_stand_still(thread, more), run->now += more; break;
    case 11: if (more % 8 == 0) end_thread(run, place); break;
    case 12: switch_stack(thread, input, run->now); break;
    default: line(thread, input, run->now); break;
    }
}

static void finish(struct run *run)
{
    struct clp_profile profile;

    clp_profile_init(&profile, &run->mem);
    for (unsigned i = 0; i < THREADS; i++) {
        if (run->threads[i] == NULL)
            continue;
        check_thread(run->threads[i], run->born[i], run->now);
        clp_engine_unwind(run->threads[i], run->now);
        check_thread(run->threads[i], run->born[i], run->now);
    }
    (void)test_snapshot_take(&run->engine, 0.3, &profile);
    clp_profile_clear(&profile);
    clp_engine_clear(&run->engine);
    require(run->mem.bytes == 0, "memory was not given back");
    require(run->pages.bytes == 0, "pages were not given back");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct input input = {bytes, bytes + count};
    struct run run;

    set_up(&run, &input);
    while (input.at < input.end)
        event(&run, &input);
    finish(&run);
    return 0;
}

