/* SPDX-License-Identifier: MIT */
#include "snapshot_calls.h"
#include "calls.h"
#include <stdlib.h>

/* A node of the engine's tree, and where it goes. */
struct node {
    const struct clp_call *call;
    struct clp_call_counts counts; /* for this view */
    bool shown;   /* does the view have the callee? */
    bool wanted;  /* has the node, or one below it, counted anything? */
    bool through; /* do callees of this node stand below a node above it, as reached through this one? */
    uint32_t place; /* of the node that callees are put below, in the profile, plus 1; 0: none */
    int32_t line;   /* the line of that node that callees are put at, where `through` is set */
};

/* How ticks of a function of the profile become nanoseconds: sums over the engine's functions that stand there. */
struct scale {
    uint32_t sharers;    /* how many functions of the engine stand there */
    uint64_t raw;        /* their totals, in ticks */
    double ticks;        /* the same without what the profiler's own events took */
    uint64_t called_raw; /* the same two, of all calls */
    double called_ticks;
    double nanos; /* in a tick */
    bool as_clocked; /* of no call anything is left without what the events took: they are shown with it */
};

struct calls {
    const struct clp_view *view;
    const struct clp_engine_copy *copy;
    const struct clp_functions *functions;
    struct clp_snapshot_places *places; /* by ascending function */
    double nanos_per_tick;
    struct clp_profile *profile;
    struct node *nodes; /* by id */
    size_t count;
    struct scale *scales; /* by place in the profile */
};

clp_status clp_snapshot_note_place(struct clp_snapshot_places *places, const struct clp_snapshot_place *place)
{
    if (places->count == places->room &&
        clp_mem_grow(places->mem, (void **)&places->items, &places->room, places->room * 2 + 16,
                     sizeof *places->items) != CLP_OK)
        return CLP_NO_MEMORY;
    places->items[places->count++] = *place;
    return CLP_OK;
}

void clp_snapshot_clear_places(struct clp_snapshot_places *places)
{
    clp_mem_free(places->mem, places->items, places->room, sizeof *places->items);
}

static int compare_places(const void *left, const void *right)
{
    const struct clp_snapshot_place *a = left, *b = right;

    return a->function < b->function ? -1 : a->function > b->function;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static clp_status count_item(const struct calls *calls, const struct clp_view_item *item)
{
    struct clp_call_sums *sums = clp_view_calls(calls->view, item, calls->copy);

    if (sums == NULL)
        return CLP_NO_MEMORY;
    for (uint32_t i = 0; i < sums->count; i++) {
        struct node *node = &calls->nodes[sums->items[i].id];
        node->counts = sums->items[i].counts;
        node->shown = true;
    }
    clp_pool_give(&calls->view->views->pool, sums);
    return CLP_OK;
}

/* Where calls are counted without looking who calls, divides the calls of each function between its contexts, in proportion
 * to the time that samples saw there. What is lost by rounding goes to the last of them. Contexts that no sample has met
 * have no calls; if there are none that one has met, the calls stay where they are. */
static void divide_calls(const struct calls *calls, const struct clp_view_item *item)
{
    uint64_t sum = 0, ticks = 0, left;
    struct node *last = NULL;

    for (const struct clp_call *at = clp_calls_of(&calls->copy->from->calls, item->function); at != NULL; at = at->of_same) {
        sum += calls->nodes[at->id].counts.calls;
        ticks += calls->nodes[at->id].counts.ticks + calls->nodes[at->id].counts.again;
    }
    left = sum;
    for (const struct clp_call *at = clp_calls_of(&calls->copy->from->calls, item->function); at != NULL && ticks > 0;
         at = at->of_same) {
        struct clp_call_counts *counts = &calls->nodes[at->id].counts;
        double part = (double)(counts->ticks + counts->again) / (double)ticks;
        counts->calls = smaller((uint64_t)(part * (double)sum), left);
        left -= counts->calls;
        if (part > 0)
            last = &calls->nodes[at->id];
    }
    if (last != NULL)
        last->counts.calls += left;
}

static bool has_counted(const struct clp_call_counts *counts)
{
    return counts->calls != 0 || counts->ticks != 0 || counts->again != 0 || counts->increment != 0;
}

/* Finds the nodes that have counted, and those above them. A parent's id is less than that of its children. */
static void mark_wanted(const struct calls *calls)
{
    for (size_t i = calls->count; i-- > 0;) {
        struct node *node = &calls->nodes[i];
        node->wanted |= node->shown && has_counted(&node->counts);
        if (node->wanted && node->call->parent != NULL)
            calls->nodes[node->call->parent_id].wanted = true;
    }
}

/* Where the callee of the node stands in the profile. NULL: nowhere. */
static const struct clp_snapshot_place *find_place(const struct calls *calls, const struct clp_call *call)
{
    const struct clp_snapshot_place *items = calls->places->items;
    size_t low = 0, high = calls->places->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (items[middle].function < call->function)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < calls->places->count && items[low].function == call->function; low++)
        if (!items[low].grouped || items[low].group == clp_call_group(call))
            return &items[low];
    return NULL;
}

static double corrected(const struct calls *calls, uint64_t ticks, int64_t correction)
{
    double left = (double)ticks - clp_costs_ticks(&calls->copy->from->costs, (double)correction);

    return left > 0 ? left : 0;
}

static uint64_t nanos_of(const struct calls *calls, uint64_t ticks, int64_t correction, double scale)
{
    double nanos = corrected(calls, ticks, correction) * scale + 0.5;

    return nanos < 0x1p64 ? (uint64_t)nanos : UINT64_MAX;
}

/* Finds out how many nanoseconds a tick of each function's calls is. If no call lies within another one, all of them
 * together are the function's total. What an average event costs may be more than a short call took: so the sum is
 * made of the calls as they are shown. If nothing is left of them, they share the total as the clock saw them. */
static void set_scales(const struct calls *calls)
{
    for (size_t i = 0; i < calls->places->count; i++) {
        const struct clp_snapshot_place *place = &calls->places->items[i];
        struct scale *scale = &calls->scales[place->place];
        scale->sharers++;
        scale->raw += place->raw;
        scale->ticks += place->ticks;
    }
    for (size_t i = 0; i < calls->count; i++) {
        const struct node *node = &calls->nodes[i];
        const struct clp_snapshot_place *place = node->shown ? find_place(calls, node->call) : NULL;
        if (place != NULL) {
            calls->scales[place->place].called_raw += node->counts.ticks;
            calls->scales[place->place].called_ticks += corrected(calls, node->counts.ticks, node->counts.correction);
        }
    }
    for (size_t i = 0; i < calls->profile->function_count; i++) {
        struct scale *scale = &calls->scales[i];
        double ticks = scale->called_raw == scale->raw ? scale->called_ticks : scale->ticks;
        scale->as_clocked = ticks <= 0;
        if (scale->as_clocked)
            ticks = (double)scale->raw;
        scale->nanos = ticks > 0 ? (double)calls->profile->functions[i].total / ticks : 0;
    }
}

/* The line of the parent's function from which the node was called. */
static int32_t line_of(const struct calls *calls, const struct clp_call *call)
{
    size_t cell = (call->place - clp_block_place(0)) / sizeof(struct clp_cell);

    if (call->place == 0 || call->parent->function == CLP_CALL_NO_FUNCTION)
        return 0;
    return calls->functions->items[call->parent->function].lines[cell];
}

/* Returns where callees of the context that was added last, or found, at `place` go. The engine folds recursion of one
 * function. A call between two functions that share a place is recursion, too, but only in the profile. */
static uint32_t home_of(const struct clp_profile *profile, uint32_t place)
{
    const struct clp_profile_call *items = profile->calls;

    for (uint32_t at = items[place].parent; at != 0; at = items[at - 1].parent)
        if (items[at - 1].function == items[place].function)
            return at - 1;
    return place;
}

static clp_status add_node(const struct calls *calls, struct node *node)
{
    const struct node *parent = &calls->nodes[node->call->parent_id];
    const struct clp_snapshot_place *place = node->shown ? find_place(calls, node->call) : NULL;
    int32_t line = parent->through ? parent->line : line_of(calls, node->call);

    if (place == NULL) {
        node->through = parent->place != 0;
        node->place = parent->place;
        node->line = line;
        return CLP_OK;
    }
    const struct scale *scale = &calls->scales[place->place];
    const uint64_t total = calls->profile->functions[place->place].total;
    const struct clp_call_counts *counts = &node->counts;
    const uint64_t time = nanos_of(calls, counts->ticks, scale->as_clocked ? 0 : counts->correction, scale->nanos);
    const struct clp_profile_call added = {
        .parent = parent->place,
        .line = parent->place != 0 ? line : 0,
        .function = place->place,
        .through = parent->place != 0 && (node->call->through || parent->through),
        .calls = counts->calls,
        .time = time < total ? time : total,
        .again = nanos_of(calls, counts->again, scale->as_clocked ? 0 : counts->again_correction, scale->nanos),
        .increment = counts->increment,
    };
    clp_status status = clp_profile_add_call(calls->profile, &added, &node->place);
    if (status == CLP_OK && scale->sharers > 1)
        node->place = home_of(calls->profile, node->place);
    node->place++;
    return status;
}

static clp_status add_nodes(const struct calls *calls)
{
    clp_status status = CLP_OK;

    for (size_t i = 0; i < calls->view->count && status == CLP_OK; i++)
        status = count_item(calls, &calls->view->items[i]);
    for (size_t i = 0; i < calls->view->count && calls->copy->from->counted != NULL; i++)
        divide_calls(calls, &calls->view->items[i]);
    mark_wanted(calls);
    set_scales(calls);
    for (size_t i = 0; i < calls->count && status == CLP_OK; i++)
        if (calls->nodes[i].wanted && calls->nodes[i].call->parent != NULL)
            status = add_node(calls, &calls->nodes[i]);
    return status;
}

/* Adds what was counted together because the tree was full. It may have calls of other views, too. */
static clp_status add_deeper(const struct calls *calls, const struct clp_call_counts *counts)
{
    const struct clp_profile_call added = {
        .function = CLP_CALL_DEEPER,
        .calls = counts->calls,
        .time = nanos_of(calls, counts->ticks, counts->correction, calls->nanos_per_tick),
        .again = nanos_of(calls, counts->again, counts->again_correction, calls->nanos_per_tick),
        .increment = counts->increment,
    };

    calls->profile->calls_cut += counts->calls;
    return clp_profile_add_call(calls->profile, &added, NULL);
}

static clp_status add_tree(const struct calls *calls, const struct clp_calls *tree)
{
    size_t i = 0;

    qsort(calls->places->items, calls->places->count, sizeof *calls->places->items, compare_places);
    for (const struct clp_call_area *area = tree->first; area != NULL; area = area->next)
        for (uint32_t j = 0; j < area->count; j++)
            calls->nodes[i++].call = &area->items[j];
    clp_status status = add_nodes(calls);
    if (status == CLP_OK && tree->deeper->counts.calls != 0)
        status = add_deeper(calls, &tree->deeper->counts);
    return status;
}

clp_status clp_snapshot_add_calls(const struct clp_view *view, const struct clp_engine_copy *copy,
                                  struct clp_snapshot_places *places, double nanos_per_tick,
                                  struct clp_profile *profile)
{
    const struct clp_calls *tree = &copy->from->calls;
    struct calls calls = {
        .view = view,
        .copy = copy,
        .functions = &copy->from->functions,
        .places = places,
        .nanos_per_tick = nanos_per_tick,
        .profile = profile,
        .count = tree->count,
    };

    if (tree->count == 0 || places->count == 0)
        return CLP_OK;
    calls.nodes = clp_mem_alloc(profile->mem, calls.count, sizeof *calls.nodes);
    calls.scales = clp_mem_alloc(profile->mem, profile->function_count, sizeof *calls.scales);
    clp_status status = calls.nodes != NULL && calls.scales != NULL ? add_tree(&calls, tree) : CLP_NO_MEMORY;
    clp_mem_free(profile->mem, calls.nodes, calls.count, sizeof *calls.nodes);
    clp_mem_free(profile->mem, calls.scales, profile->function_count, sizeof *calls.scales);
    return status;
}
