/* SPDX-License-Identifier: MIT */
/* As in live_threads.c nothing in the copy is trusted. */
#include "live_samples.h"
#include "live_limits.h"
#include <stdlib.h>

/* ---- lines ---- */

static void take_line(struct clp_block *block, uint32_t at, struct clp_line_samples line)
{
    clp_live_limit_count(&line.self);
    clp_live_limit_count(&line.wait);
    clp_live_limit_count(&line.nested);
    block->cells[at].self = line.self;
    block->cells[at].nested = (int64_t)line.nested;
    clp_block_cpu(block)[at].wait = line.wait;
    if (block->light != NULL && line.squares >= 0 && line.squares <= (double)CLP_LIVE_MOST_COUNT * CLP_LIVE_MOST_COUNT)
        block->light[at].squares = line.squares;
}

clp_status clp_live_take_samples(struct clp_live_reader *reader, struct clp_area *area, size_t bytes)
{
    const struct clp_sampled_function *from = (const struct clp_sampled_function *)area;
    const struct clp_functions *functions = &reader->engine.functions;

    if (bytes < sizeof *from || from->function >= functions->count)
        return CLP_OK; /* of a function that was selected when the file could not grow any more */
    const struct clp_function *function = &functions->items[from->function];
    if (from->line_count != function->line_count || from->line_count > (bytes - sizeof *from) / sizeof from->lines[0])
        return refuse(reader, CLP_CORRUPT, area, "samples of no function");
    struct clp_block *block = clp_block_new(&reader->engine.pool, function, from->function,
                                            reader->engine.parts & CLP_PART_LIGHT);
    struct clp_block **slot = block != NULL ? clp_live_append(reader, &reader->blocks, sizeof(struct clp_block *)) : NULL;
    if (slot == NULL)
        return no_memory(reader);
    *slot = block;
    block->total = from->total;
    clp_live_limit_count(&block->total);
    for (uint32_t i = 0; i < from->line_count; i++)
        take_line(block, i, from->lines[i]);
    return CLP_OK;
}

/* ---- calling contexts ---- */

static int compare_ids(const void *key, const void *item)
{
    const struct clp_live_sampled_call *a = key, *b = item;

    return a->from->id < b->from->id ? -1 : a->from->id > b->from->id;
}

clp_status clp_live_take_sampled_calls(struct clp_live_reader *reader, struct clp_area *area, size_t bytes)
{
    const struct clp_sampled_calls *calls = (const struct clp_sampled_calls *)area;

    if (bytes < sizeof *calls || calls->count > (bytes - sizeof *calls) / sizeof calls->items[0])
        return refuse(reader, CLP_CORRUPT, area, "more calls than fit");
    for (uint32_t i = 0; i < calls->count; i++) {
        struct clp_live_sampled_call *call = clp_live_append(reader, &reader->sampled, sizeof *call);
        if (call == NULL)
            return no_memory(reader);
        *call = (struct clp_live_sampled_call){.from = &calls->items[i]};
    }
    return CLP_OK;
}

/* The engine's node for the context's parent; NULL: it is missing, or has no such line. */
static struct clp_call *parent_of(struct clp_live_reader *reader, const struct clp_sampled_call *call)
{
    const struct clp_sampled_call wanted = {.id = call->parent_id};
    const struct clp_live_sampled_call key = {.from = &wanted}, *parent;

    if (call->parent_id == 0)
        return call->cell == CLP_NO_CELL ? clp_calls_root(&reader->engine.calls, 0) : NULL;
    if (call->parent_id >= call->id)
        return NULL;
    parent = bsearch(&key, reader->sampled.items, reader->sampled.count, sizeof key, compare_ids);
    if (parent == NULL || parent->made == NULL || parent->from->function >= reader->engine.functions.count ||
        call->cell >= reader->engine.functions.items[parent->from->function].line_count)
        return NULL;
    return parent->made->home;
}

clp_status clp_live_make_sampled_calls(struct clp_live_reader *reader)
{
    struct clp_live_sampled_call *calls = reader->sampled.items;
    struct clp_calls *tree = &reader->engine.calls;

    if (reader->sampled.count != 0)
        qsort(calls, reader->sampled.count, sizeof *calls, compare_ids);
    for (size_t i = 0; i < reader->sampled.count; i++) {
        const struct clp_sampled_call *from = calls[i].from;
        struct clp_call_counts counts = {.ticks = from->ticks, .again = from->again};
        struct clp_call *parent = from->function < reader->engine.functions.count ? parent_of(reader, from) : NULL;
        if (parent == NULL)
            continue;
        calls[i].made =
            clp_calls_find(tree, parent, from->cell == CLP_NO_CELL ? 0 : clp_block_place(from->cell), from->function);
        if (calls[i].made == tree->deeper && tree->count < CLP_CALLS_MOST)
            return no_memory(reader);
        clp_live_limit_count(&counts.ticks);
        clp_live_limit_count(&counts.again);
        clp_call_counts_add(&calls[i].made->counts, &counts);
        clp_live_limit_count(&calls[i].made->counts.ticks);
        clp_live_limit_count(&calls[i].made->counts.again);
    }
    return CLP_OK;
}
