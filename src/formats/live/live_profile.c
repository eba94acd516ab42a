/* SPDX-License-Identifier: MIT */
#include "live_profile.h"
#include "live_leaks.h"
#include "engine/tallies.h"
#include "engine/ways.h"
#include "live_threads.h"
#include "os/proc.h"
#include "profile/named.h"
#include "profile/snapshot.h"
#include "profile/texts.h"
#include <string.h>

/* Brings counters into their ranges. In the copy of a running process a callee's time may be there twice, or
 * not at all. */
static void settle(struct clp_block *block)
{
    clp_live_tidy_block(block);
    for (uint32_t i = 0; i < block->line_count; i++) {
        struct clp_cell *cell = &block->cells[i];
        if ((int64_t)clp_cell_time(cell) < 0)
            cell->nested = 0;
    }
}

static void not_below_zero(uint64_t *value)
{
    if ((int64_t)*value < 0)
        *value = 0;
}

/* Subtracts the base from the counters. No number falls below 0: in a damaged file the base may be larger than
 * the counters. */
static void take_off(struct clp_block *block, const struct clp_block *base)
{
    clp_block_subtract(block, base);
    not_below_zero(&block->total);
    for (uint32_t i = 0; i < block->line_count; i++) {
        struct clp_cell *cell = &block->cells[i];
        not_below_zero(&cell->hits);
        not_below_zero(&cell->self);
        not_below_zero(&cell->await);
        not_below_zero(&clp_block_gc(block)[i].ticks);
        not_below_zero(&clp_block_gc(block)[i].runs);
        not_below_zero(&clp_block_cpu(block)[i].wait);
        not_below_zero(&clp_block_cpu(block)[i].queue);
        not_below_zero(&clp_block_cpu(block)[i].gc_wait);
        not_below_zero(&clp_block_cpu(block)[i].gc_queue);
        if (block->heap != NULL) {
            not_below_zero(&block->heap[i].allocated);
            not_below_zero(&block->heap[i].blocks);
        }
        if (block->rss != NULL) {
            not_below_zero((uint64_t *)&block->rss[i].grown);
            not_below_zero((uint64_t *)&block->rss[i].released);
        }
    }
    settle(block);
}

static void take_bases_off(const struct clp_live_reader *reader, const struct clp_thread *sums)
{
    for (size_t i = 0; i < reader->bases.count; i++) {
        const struct clp_block *base = ((struct clp_block **)reader->bases.items)[i];
        if (sums->blocks[base->function] != NULL)
            take_off(sums->blocks[base->function], base);
    }
}

/* Adds up each function's blocks, in a thread of the engine where a snapshot looks for them. */
static bool add_sums(struct clp_live_reader *reader)
{
    struct clp_functions *functions = &reader->engine.functions;
    struct clp_thread *thread = clp_engine_new_thread(&reader->engine, 0, 0);

    if (thread == NULL ||
        clp_mem_grow(reader->mem, (void **)&thread->blocks, &thread->block_room, functions->count,
                     sizeof(struct clp_block *)) != CLP_OK)
        return functions->count == 0;
    for (size_t i = 0; i < reader->blocks.count; i++) {
        struct clp_block *block = ((struct clp_block **)reader->blocks.items)[i];
        struct clp_block **sum = &thread->blocks[block->function];
        settle(block);
        if (*sum == NULL) {
            *sum = block;
            continue;
        }
        if ((block->parts & ~(*sum)->parts) != 0) { /* the one that has all parts takes the other's numbers */
            struct clp_block *fewer = *sum;
            *sum = block;
            block = fewer;
        }
        clp_block_merge(*sum, block);
        settle(*sum);
    }
    if (clp_ways_settle_last(thread) != CLP_OK)
        return false;
    take_bases_off(reader, thread);
    for (size_t i = 0; i < functions->count; i++) {
        if (thread->blocks[i] == NULL)
            functions->items[i].line_count = 0; /* never ran: needs no room for its lines */
    }
    return true;
}

/* Takes the sums out of the engine before it is cleared: they lie in the copy, not in the engine's pool. */
static void drop_sums(struct clp_engine *engine)
{
    if (engine->threads == NULL)
        return;
    for (size_t i = 0; i < engine->threads->block_room; i++)
        engine->threads->blocks[i] = NULL;
}

/* Nanoseconds per tick. Until the machine is started anew, its two clocks tell this ratio more exactly with
 * every second. */
static double rate_of(const struct clp_live_header *header)
{
    struct clp_clock clock = clp_live_clock(header);
    double rate = clp_identity_same_boot(&header->who) ? clp_clock_nanos_per_tick(&clock)
                                                       : header->rough_nanos;

    return rate > header->rough_nanos * 0.99 && rate < header->rough_nanos * 1.01
               ? rate
               : header->rough_nanos;
}

/* Nanoseconds in which a counter was not read behind short lines; 0 where a damaged file says what cannot be. */
static uint64_t unread_nanos(const struct clp_counter_unread *unread, uint64_t end, double rate)
{
    double nanos = (double)clp_counter_unread_until(unread, end) * rate;

    return nanos < 1e18 ? (uint64_t)nanos : 0;
}

static clp_status fill_meta(const struct clp_live_reader *reader, double rate,
                            struct clp_profile *profile)
{
    const struct clp_live_header *header = reader->header;
    struct clp_profile_meta *meta = &profile->meta;
    double wall = (double)(reader->end - header->began) * rate;
    double error = (double)meta->overhead * header->cost_error;

    meta->start = header->start;
    meta->wall = reader->end > header->began && wall < 1e18 ? (uint64_t)wall : 0;
    meta->overhead_error = error < 1e18 ? (uint64_t)error : 0;
    meta->own_bytes = reader->count;
    meta->memory_step = header->memory_step;
    meta->no_source = header->source == CLP_SOURCE_NONE;
    meta->has_queue = header->cpu >= 2;
    meta->tensors_read = header->tensors_read;
    meta->inexact_memory = header->memory_step != 0;
    clp_status status = clp_profile_set_identity(profile, &header->who);
    if (status == CLP_OK)
        status = clp_profile_set_text(profile, &meta->python, header->python);
    if (status == CLP_OK)
        status = clp_profile_set_text(profile, &meta->tracer, header->tracer);
    if (status == CLP_OK && meta->has_memory && header->memory < CLP_MEMORY_MODES)
        status = clp_profile_set_text(profile, &meta->memory, clp_memory_name(header->memory));
    for (size_t i = 0; i < CLP_TALLY_COUNTERS && status == CLP_OK; i++)
        *clp_named_unread(meta, i) = unread_nanos(&header->unread[i], reader->end, rate);
    for (size_t i = 0; i < CLP_TALLY_COUNTERS && status == CLP_OK; i++)
        if (header->counters[i][0] != 0 && memchr(header->counters[i], 0, CLP_TALLY_NAME) != NULL)
            status = clp_profile_set_text(profile, clp_named_name(meta, CLP_NAMED_COUNTER + i), header->counters[i]);
    for (size_t i = 0; i < CLP_DEVICES && status == CLP_OK; i++)
        if (header->devices[i][0] != 0 && memchr(header->devices[i], 0, CLP_DEVICE_NAME) != NULL)
            status = clp_profile_set_text(profile, clp_named_name(meta, CLP_NAMED_DEVICE + i), header->devices[i]);
    if (status == CLP_OK && reader->command != NULL)
        status = clp_profile_set_text(profile, &meta->command, reader->command);
    return status;
}

static const struct clp_live_text *find_text(const struct clp_live_reader *reader, uint32_t number)
{
    const struct clp_live_text *texts = reader->texts.items;

    for (size_t i = 0; i < reader->texts.count; i++) {
        if (texts[i].number == number)
            return &texts[i];
    }
    return NULL;
}

static clp_status fill_texts(const struct clp_live_reader *reader, struct clp_profile *profile)
{
    struct clp_source_walk walk = {0};
    const struct clp_live_text *text = NULL;
    clp_status status = CLP_OK;

    for (size_t i = 0; i < profile->function_count && status == CLP_OK; i++) {
        struct clp_profile_function *function = &profile->functions[i];
        if (text == NULL || text->number != function->text) {
            text = find_text(reader, function->text);
            if (text == NULL)
                continue;
            status = clp_profile_begin_text(profile, reader->header->source, function->file,
                                            (struct clp_span){text->text, text->bytes}, &walk);
        }
        struct clp_span source = clp_profile_find_source(function, &walk);
        if (status == CLP_OK)
            status = clp_profile_set_source(profile, function, source.text, source.bytes);
    }
    return status;
}

static clp_status mark_in_flight(const struct clp_live_reader *reader, struct clp_profile *profile)
{
    const struct clp_live_in_flight *lines = reader->in_flight.items;

    for (size_t i = 0; i < reader->in_flight.count; i++) {
        const struct clp_function *from = &reader->engine.functions.items[lines[i].function];
        struct clp_profile_function *function;
        if (!clp_view_has(&reader->view, lines[i].function))
            continue;
        if (clp_snapshot_function(from, NULL, profile, &function) != CLP_OK)
            return CLP_NO_MEMORY;
        for (size_t j = 0; j < function->line_count; j++)
            function->lines[j].running |= function->lines[j].line == lines[i].line;
    }
    return CLP_OK;
}

static clp_status fill_history(const struct clp_live_reader *reader, double rate,
                               struct clp_profile *profile)
{
    const struct clp_clock clock = clp_live_clock(reader->header);
    struct clp_samples samples;

    if (reader->history == NULL || reader->header->parent != 0) /* memory over time of a fork is in its parent's file */
        return CLP_OK;
    clp_history_tidy(reader->history, &samples);
    return clp_history_add(reader->history, &samples,
                           &(struct clp_history_origin){.pid = reader->header->who.pid,
                                                        .functions = &reader->engine.functions,
                                                        .clock = &clock,
                                                        .nanos_per_tick = rate},
                           profile);
}

clp_status clp_live_make_profile(struct clp_live_reader *reader, struct clp_profile *profile)
{
    const struct clp_engine_copy copy = {.from = &reader->engine}; /* every stack has been unwound */
    double rate = rate_of(reader->header);

    clp_live_end_all(reader);
    if (!add_sums(reader))
        return CLP_NO_MEMORY;
    const struct clp_snapshot_wish wish = {reader->engine.parts, reader->header->cpu != 0,
                                            reader->header->tallies, reader->header->called != 0,
                                            reader->header->device_time != 0, rate};
    clp_status status = clp_snapshot_take_view(&reader->view, &copy, &wish, profile);
    drop_sums(&reader->engine);
    if (status == CLP_OK)
        status = fill_history(reader, rate, profile);
    if (status == CLP_OK)
        status = mark_in_flight(reader, profile);
    if (status == CLP_OK)
        status = fill_texts(reader, profile);
    if (status == CLP_OK)
        status = clp_live_fill_leaks(reader, profile);
    if (status == CLP_OK)
        status = fill_meta(reader, rate, profile);
    return status;
}
