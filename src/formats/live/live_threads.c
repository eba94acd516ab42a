/* SPDX-License-Identifier: MIT */
/* Nothing in the copy is trusted: pointers are translated or searched for, numbers are kept within limits. */
#include "live_threads.h"
#include "live_calls.h"
#include "live_limits.h"
#include "engine/engine.h"
#include <stdlib.h>
#include <string.h>

static void tidy_cell(struct clp_cell *cell)
{
    clp_live_limit_count(&cell->hits);
    clp_live_limit_count(&cell->self);
    clp_live_limit_to(&cell->self_correction, CLP_LIVE_MOST_CORRECTION);
    clp_live_limit(&cell->nested);
    clp_live_limit_to(&cell->nested_correction, CLP_LIVE_MOST_CORRECTION);
    clp_live_limit(&cell->max);
    clp_live_limit_count(&cell->await);
}

static void tidy_rss(struct clp_rss_cell *rss)
{
    clp_live_limit(&rss->grown);
    clp_live_limit(&rss->released);
    clp_live_limit(&rss->self_increment);
    clp_live_limit(&rss->largest);
}

static void tidy_called(struct clp_called_cell *called)
{
    for (int kind = 0; kind < CLP_CALLED_KINDS; kind++) {
        clp_live_limit_to(&called->time[kind], CLP_LIVE_MOST_CORRECTION);
        for (int i = 0; i < CLP_CALLED_NAMES; i++)
            clp_live_limit_to(&called->names[kind][i].time, CLP_LIVE_MOST_CORRECTION);
    }
}

static void tidy_gc(struct clp_gc_cell *gc)
{
    clp_live_limit_count(&gc->ticks);
    clp_live_limit_count(&gc->runs);
}

static void tidy_cpu(struct clp_cpu_cell *cpu)
{
    clp_live_limit_count(&cpu->wait);
    clp_live_limit_count(&cpu->queue);
    clp_live_limit_count(&cpu->gc_wait);
    clp_live_limit_count(&cpu->gc_queue);
}

static void tidy_heap(struct clp_heap_cell *heap)
{
    clp_live_limit_count(&heap->allocated);
    clp_live_limit_count(&heap->blocks);
}

static void tidy_tallies(struct clp_tally_cell *tallies)
{
    for (size_t i = 0; i < CLP_TALLIES; i++)
        clp_live_limit(&tallies->sums[i]);
    for (size_t i = 0; i < CLP_TALLY_COUNTERS; i++)
        clp_live_limit(&tallies->most[i]);
}

static void tidy_tensors(struct clp_tensor_cell *tensors)
{
    clp_live_limit_count(&tensors->allocated);
    clp_live_limit_count(&tensors->freed);
    clp_live_limit(&tensors->reserved);
    clp_live_limit_count(&tensors->peak);
}

static void tidy_devices(struct clp_device_cell *devices)
{
    for (size_t i = 0; i < CLP_DEVICES; i++)
        tidy_tensors(&devices->tensors[i]);
    clp_live_limit_count(&devices->time);
    clp_live_limit_count(&devices->wait);
    clp_live_limit_count(&devices->launches);
}

void clp_live_tidy_totals(struct clp_engine_totals *totals)
{
    clp_live_limit_to(&totals->correction, CLP_LIVE_MOST_CORRECTION);
    clp_live_limit_count(&totals->stopped);
    clp_live_limit_count(&totals->reads);
    clp_live_limit(&totals->others_grown);
    clp_live_limit(&totals->others_released);
    tidy_gc(&totals->gc_outside);
    for (size_t i = 0; i < CLP_DEVICES; i++)
        tidy_tensors(&totals->tensors_outside[i]);
}

void clp_live_tidy_block(struct clp_block *block)
{
    clp_live_limit_count(&block->total);
    clp_live_limit_to(&block->total_correction, CLP_LIVE_MOST_CORRECTION);
    for (uint32_t i = 0; i < block->line_count; i++) {
        tidy_cell(&block->cells[i]);
        tidy_gc(&clp_block_gc(block)[i]);
        tidy_cpu(&clp_block_cpu(block)[i]);
        if (block->rss != NULL)
            tidy_rss(&block->rss[i]);
        if (block->heap != NULL)
            tidy_heap(&block->heap[i]);
        if (block->tallies != NULL)
            tidy_tallies(&block->tallies[i]);
        if (block->called != NULL)
            tidy_called(&block->called[i]);
        if (block->devices != NULL)
            tidy_devices(&block->devices[i]);
    }
}

static bool has_memory(const struct clp_live_reader *reader)
{
    return (reader->engine.parts & CLP_PART_MEMORY) != 0;
}

static clp_status take_into(struct clp_live_reader *reader, struct clp_live_list *list,
                            struct clp_area *area, size_t bytes)
{
    struct clp_block *block = (struct clp_block *)area, **slot;
    const struct clp_functions *functions = &reader->engine.functions;

    if (bytes < sizeof *block || block->function >= functions->count)
        return CLP_OK; /* of a function that was selected when the file could not grow any more */
    const struct clp_function *function = &functions->items[block->function];
    if (block->line_count != function->line_count || block->lowest_line != function->lowest_line ||
        block->parts > CLP_PARTS_ALL || clp_block_bytes(block->line_count, block->parts) > bytes)
        return refuse(reader, CLP_CORRUPT, area, "counters of no function");
    slot = clp_live_append(reader, list, sizeof(struct clp_block *));
    if (slot == NULL)
        return no_memory(reader);
    *slot = block;
    block->latest = NULL;
    block->map = function->map;
    clp_block_place_parts(block);
    clp_live_tidy_block(block);
    return CLP_OK;
}

clp_status clp_live_take_block(struct clp_live_reader *reader, struct clp_area *area, size_t bytes)
{
    return take_into(reader, &reader->blocks, area, bytes);
}

clp_status clp_live_take_base(struct clp_live_reader *reader, struct clp_area *area, size_t bytes)
{
    return take_into(reader, &reader->bases, area, bytes);
}

/* ---- threads ---- */

/* An earlier reading of a clock that stands at `now`. A reading that is later, or much too early, becomes
 * `now`. */
static uint64_t earlier(uint64_t value, uint64_t now)
{
    return now - value <= (uint64_t)CLP_LIVE_MOST_COUNT ? value : now;
}

void *clp_live_translate(const struct clp_live_reader *reader, const void *pointer, size_t bytes)
{
    uint64_t address = (uint64_t)(uintptr_t)pointer;
    const struct clp_live_place *places = reader->places.items;

    for (size_t i = 0; i < reader->places.count; i++) {
        uint64_t at = address - places[i].address;
        if (at < places[i].bytes && bytes <= places[i].bytes - at && at % 8 == 0)
            return reader->bytes + ((const char *)places[i].chunk - reader->bytes) + at;
    }
    return NULL;
}

static int compare_blocks(const void *key, const void *item)
{
    const char *a = key, *b = *(char *const *)item;

    return a < b ? -1 : a > b;
}

static struct clp_block *find_block(const struct clp_live_reader *reader, const void *pointer)
{
    const void *at = clp_live_translate(reader, pointer, sizeof(struct clp_block));
    struct clp_block **found =
        at == NULL || reader->blocks.count == 0
            ? NULL
            : bsearch(at, reader->blocks.items, reader->blocks.count, sizeof *found,
                      compare_blocks);

    return found != NULL ? *found : NULL;
}

/* The cell of the block in the copy for the cell and block of the process. Any other pointer gives the thread's
 * `outside`. */
static struct clp_cell *find_cell(struct clp_thread *thread, struct clp_block *block,
                                  const struct clp_activation *from)
{
    uintptr_t start = (uintptr_t)from->block + offsetof(struct clp_block, cells);
    uintptr_t at = (uintptr_t)from->cell - start;

    if (at % sizeof(struct clp_cell) != 0 || at / sizeof(struct clp_cell) >= block->line_count)
        return &thread->outside;
    return &block->cells[at / sizeof(struct clp_cell)];
}

/* An earlier value of a running sum of corrections that stands at `now`; it may have been a little larger. A
 * value that is too far away becomes `now`. */
static int64_t earlier_correction(int64_t value, int64_t now)
{
    return value > now - CLP_LIVE_MOST_COUNT && value < now + CLP_LIVE_MOST_COUNT ? value : now;
}

/* Puts the activation on the thread's stack. False: it is not an activation of this thread. */
static bool revive(struct clp_live_reader *reader, struct clp_thread *thread,
                   const struct clp_activation *from)
{
    struct clp_block *block = find_block(reader, from->block);

    /* one thread's counters belong to no other thread */
    if (block == NULL || (block->latest != NULL && block->latest != thread))
        return false;
    block->latest = thread;
    *++thread->top = (struct clp_activation){
        .block = block,
        .cell = find_cell(thread, block, from),
        .special = clp_live_is_set(&from->special),
        .continued = clp_live_is_set(&from->continued),
        .again = clp_live_is_set(&from->again),
        .call = clp_live_call(reader, clp_live_translate(reader, from->call, sizeof *from->call)),
        .entered_rss = from->entered_rss,
        .start = earlier(from->start, thread->last),
        .start_correction = earlier_correction(from->start_correction, thread->correction),
        .start_rss = from->start_rss,
        .carried = from->carried,
        .entered = earlier(from->entered, thread->last),
        .entered_correction = earlier_correction(from->entered_correction, thread->correction),
        .entry_cost = from->entry_cost,
    };
    clp_live_limit(&thread->top->start_rss);
    clp_live_limit(&thread->top->entered_rss);
    clp_live_limit_count(&thread->top->carried);
    clp_live_limit_to(&thread->top->entry_cost, CLP_LIVE_MOST_COST);
    if (!has_memory(reader))
        thread->top->start_rss = thread->top->entered_rss = thread->rss;
    return true;
}

static bool note_in_flight(struct clp_live_reader *reader, const struct clp_thread *thread)
{
    const struct clp_activation *top = thread->top;
    struct clp_live_in_flight *line;

    if (top->cell == &thread->outside)
        return true;
    line = clp_live_append(reader, &reader->in_flight, sizeof *line);
    if (line == NULL)
        return false;
    *line = (struct clp_live_in_flight){top->block->function, clp_engine_current_line(thread)};
    return true;
}

/* How many activations lie above the floor of the stack; *stack is the stack in the copy. 0 when there are
 * none, or when the process was moving its stack. */
static size_t depth_of(const struct clp_live_reader *reader, const struct clp_thread *thread,
                       const struct clp_activation **stack)
{
    size_t bytes = (size_t)((uintptr_t)thread->top - (uintptr_t)thread->stack);
    size_t depth = bytes / sizeof **stack;

    if (depth == 0 || bytes % sizeof **stack != 0 || depth >= reader->count / sizeof **stack)
        return 0;
    *stack = clp_live_translate(reader, thread->stack, bytes + sizeof **stack);
    return *stack != NULL ? depth : 0;
}

static void copy_state(const struct clp_live_reader *reader, struct clp_thread *into,
                       const struct clp_thread *from)
{
    clp_engine_copy_clock(into, from);
    clp_live_limit_to(&into->correction, CLP_LIVE_MOST_CORRECTION);
    into->reads = from->reads;
    into->others_grown = from->others_grown;
    into->others_released = from->others_released;
    clp_live_limit(&into->others_grown);
    clp_live_limit(&into->others_released);
    into->gc_outside = from->gc_outside;
    tidy_gc(&into->gc_outside);
    into->rss = has_memory(reader) ? from->rss : 0;
    clp_live_limit(&into->rss);
    into->last_rss = into->rss;
}

clp_status clp_live_take_thread(struct clp_live_reader *reader, struct clp_area *area, size_t bytes)
{
    const struct clp_thread *from = (const struct clp_thread *)area;
    const struct clp_activation *stack = NULL;
    struct clp_thread *thread;

    if (bytes < sizeof *from)
        return refuse(reader, CLP_CORRUPT, area, "no thread is so small");
    size_t depth = depth_of(reader, from, &stack);
    if (depth > reader->activations_left)
        return refuse(reader, CLP_CORRUPT, area, "threads that share a stack");
    reader->activations_left -= depth;
    thread = clp_engine_new_thread(&reader->engine, 0, 0);
    if (thread == NULL || !clp_engine_reserve(thread, depth + 1))
        return no_memory(reader);
    copy_state(reader, thread, from);
    for (size_t i = 1; i <= depth && revive(reader, thread, &stack[i]); i++) {
        if (!note_in_flight(reader, thread))
            return no_memory(reader);
    }
    if (from->last + from->stopped > reader->end)
        reader->end = from->last + from->stopped;
    return CLP_OK;
}

clp_status clp_live_take_tensors(struct clp_live_reader *reader, struct clp_area *area, size_t bytes)
{
    struct clp_tensors_outside *outside = (struct clp_tensors_outside *)area;

    if (bytes < sizeof *outside)
        return refuse(reader, CLP_CORRUPT, area, "tensors that do not fit");
    for (size_t i = 0; i < CLP_DEVICES; i++)
        tidy_tensors(&outside->cells[i]);
    reader->engine.tensors = outside;
    return CLP_OK;
}

/* Clears `open` and `running`. They are then counted again from the stacks, so that they agree whatever was
 * copied first. */
static void forget_open(struct clp_live_reader *reader)
{
    for (size_t i = 0; i < reader->blocks.count; i++) {
        struct clp_block *block = ((struct clp_block **)reader->blocks.items)[i];
        for (uint32_t j = 0; j < block->line_count; j++) {
            reader->torn |= block->cells[j].open != 0;
            block->cells[j].open = 0;
        }
        block->running = 0;
        block->latest = NULL;
    }
}

static void count_open(struct clp_live_reader *reader, int32_t by)
{
    for (struct clp_thread *thread = reader->engine.threads; thread != NULL;
         thread = thread->next) {
        for (struct clp_activation *at = thread->stack; at != thread->top; at++) {
            at->cell->open += (uint32_t)by;
            at[1].block->running += (uint32_t)by;
        }
    }
}

static void settle_open(struct clp_live_reader *reader)
{
    count_open(reader, -1); /* the stacks account for all that the process counted, or else the copy is torn */
    forget_open(reader);
    for (struct clp_thread *thread = reader->engine.threads; thread != NULL; thread = thread->next)
        thread->outside.open = 1;
    count_open(reader, 1);
}

static void unwind_all(struct clp_live_reader *reader)
{
    for (struct clp_thread *thread = reader->engine.threads; thread != NULL;
         thread = thread->next) {
        thread->last = earlier(thread->last, reader->end - thread->stopped);
        clp_engine_unwind(thread, reader->end);
    }
}

void clp_live_end_all(struct clp_live_reader *reader)
{
    settle_open(reader);
    unwind_all(reader);
}

static void tidy_costs(struct clp_costs *costs)
{
    int64_t *values = (int64_t *)costs;

    for (size_t i = 0; i < sizeof *costs / sizeof *values; i++)
        clp_live_limit_to(&values[i], CLP_LIVE_MOST_COST);
}

_Static_assert(sizeof(struct clp_costs) % sizeof(int64_t) == 0, "costs are numbers");

void clp_live_take_costs(struct clp_live_reader *reader)
{
    struct clp_costs costs = reader->header->costs;

    tidy_costs(&costs);
    clp_engine_set_costs(&reader->engine, &costs);
}
