/* SPDX-License-Identifier: MIT */
/* As in live_threads.c nothing in the copy is trusted. */
#include "live_calls.h"
#include "live_limits.h"
#include <stdlib.h>

static void tidy(struct clp_call_counts *counts)
{
    clp_live_limit_count(&counts->calls);
    clp_live_limit_count(&counts->ticks);
    clp_live_limit_to(&counts->correction, CLP_LIVE_MOST_CORRECTION);
    clp_live_limit_count(&counts->again);
    clp_live_limit_to(&counts->again_correction, CLP_LIVE_MOST_CORRECTION);
    clp_live_limit(&counts->increment);
}

static int compare_ids(const void *key, const void *item)
{
    const struct clp_live_call *a = key, *b = item;

    return a->id < b->id ? -1 : a->id > b->id;
}

static struct clp_live_call *find(const struct clp_live_reader *reader, uint64_t id)
{
    const struct clp_live_call key = {.id = id};

    return reader->calls.count == 0 ? NULL
                                    : bsearch(&key, reader->calls.items, reader->calls.count, sizeof key,
                                              compare_ids);
}

clp_status clp_live_take_calls(struct clp_live_reader *reader, struct clp_area *area, size_t bytes)
{
    const struct clp_call_area *calls = (const struct clp_call_area *)area;

    if (bytes < sizeof *calls || calls->count > (bytes - sizeof *calls) / sizeof calls->items[0])
        return refuse(reader, CLP_CORRUPT, area, "more calls than fit");
    for (uint32_t i = 0; i < calls->count; i++) {
        struct clp_live_call *call = clp_live_append(reader, &reader->calls, sizeof *call);
        if (call == NULL)
            return no_memory(reader);
        *call = (struct clp_live_call){.id = calls->items[i].id, .from = &calls->items[i]};
    }
    return CLP_OK;
}

/* Has the caller of `call` this line? */
static bool has_place(const struct clp_live_reader *reader, const struct clp_call *parent, size_t place)
{
    const struct clp_functions *functions = &reader->engine.functions;
    size_t line = (place - clp_block_place(0)) / sizeof(struct clp_cell);

    if (place == 0)
        return true;
    return parent->function < functions->count && place >= clp_block_place(0) &&
           line < functions->items[parent->function].line_count && clp_block_place((uint32_t)line) == place;
}

/* The engine's node for a node of the copy. Sets *made, or leaves it NULL where the node's parent is missing. */
static clp_status make(struct clp_live_reader *reader, const struct clp_call *from, struct clp_call **made)
{
    struct clp_calls *calls = &reader->engine.calls;

    if (from->function == CLP_CALL_NO_FUNCTION) {
        struct clp_call *root = clp_calls_root(calls, from->group);
        if (root == calls->deeper && calls->count < CLP_CALLS_MOST)
            return no_memory(reader);
        *made = from->id == 0 ? calls->deeper : root;
        return CLP_OK;
    }
    const struct clp_live_call *parent = find(reader, from->parent_id);
    if (from->parent_id >= from->id)
        return refuse(reader, CLP_CORRUPT, from, "a call that cannot be");
    if (parent == NULL || parent->made == NULL || from->function >= reader->engine.functions.count)
        return CLP_OK;
    if (parent->made == calls->deeper || parent->made->home != parent->made ||
        !has_place(reader, parent->made, from->place))
        return refuse(reader, CLP_CORRUPT, from, "a call that cannot be");
    *made = clp_calls_find(calls, parent->made, from->place, from->function);
    return *made == calls->deeper && calls->count < CLP_CALLS_MOST ? no_memory(reader) : CLP_OK;
}

clp_status clp_live_make_calls(struct clp_live_reader *reader)
{
    struct clp_live_call *calls = reader->calls.items;
    clp_status status = CLP_OK;

    if (reader->calls.count != 0)
        qsort(calls, reader->calls.count, sizeof *calls, compare_ids);
    for (size_t i = 0; i < reader->calls.count && status == CLP_OK; i++) {
        struct clp_call_counts counts = calls[i].from->counts;
        status = make(reader, calls[i].from, &calls[i].made);
        if (calls[i].made == NULL)
            continue;
        tidy(&counts);
        clp_call_counts_add(&calls[i].made->counts, &counts);
        tidy(&calls[i].made->counts);
        calls[i].made->through = clp_live_is_set(&calls[i].from->through);
    }
    return status;
}

static clp_status take_sums(struct clp_live_reader *reader, struct clp_area *area, size_t bytes,
                            void (*merge)(struct clp_call_counts *, const struct clp_call_counts *))
{
    const struct clp_call_sums *sums = (const struct clp_call_sums *)area;

    if (bytes < sizeof *sums || sums->count > (bytes - sizeof *sums) / sizeof sums->items[0])
        return refuse(reader, CLP_CORRUPT, area, "more calls than fit");
    for (uint32_t i = 0; i < sums->count; i++) {
        const struct clp_live_call *call = find(reader, sums->items[i].id);
        struct clp_call_counts counts = sums->items[i].counts;
        if (call == NULL || call->made == NULL)
            continue;
        tidy(&counts);
        merge(&call->made->counts, &counts);
        tidy(&call->made->counts);
    }
    return CLP_OK;
}

clp_status clp_live_take_call_sum(struct clp_live_reader *reader, struct clp_area *area, size_t bytes)
{
    return take_sums(reader, area, bytes, clp_call_counts_add);
}

clp_status clp_live_take_call_base(struct clp_live_reader *reader, struct clp_area *area, size_t bytes)
{
    return take_sums(reader, area, bytes, clp_call_counts_subtract);
}

struct clp_call *clp_live_call(const struct clp_live_reader *reader, const void *at)
{
    const struct clp_live_call *call = at != NULL ? find(reader, ((const struct clp_call *)at)->id) : NULL;

    return call != NULL && call->from == at && call->made != NULL
               ? call->made
               : (struct clp_call *)(uintptr_t)&reader->engine.calls.start;
}
