/* SPDX-License-Identifier: MIT */
#include "call_tree.h"

/* Areas of nodes grow with the tree: most programs have a few dozen contexts. */
#define LEAST_AREA ((size_t)4 << 10)
#define MOST_AREA ((size_t)128 << 10)

_Static_assert(sizeof(struct clp_call) == 128, "an event touches one cache line of a node");
_Static_assert(offsetof(struct clp_call, counts.again) == 64, "an event touches one cache line");

void clp_calls_init(struct clp_calls *calls, struct clp_mem *mem, struct clp_pool *pool)
{
    *calls = (struct clp_calls){.mem = mem, .pool = pool};
    clp_hashmap_init(&calls->index, mem);
    calls->start = (struct clp_call){
        .latest = &calls->start,
        .next = &calls->start,
        .home = &calls->start,
        .place = SIZE_MAX, /* so that it is nobody's child */
        .function = CLP_CALL_NO_FUNCTION,
    };
    calls->deeper = &calls->start;
}

void clp_calls_clear(struct clp_calls *calls)
{
    clp_hashmap_clear(&calls->index);
    clp_mem_free(calls->mem, calls->of_function, calls->room, sizeof *calls->of_function);
    clp_calls_init(calls, calls->mem, calls->pool);
}

/* ---- making nodes ---- */

static bool add_area(struct clp_calls *calls)
{
    size_t used = calls->count * sizeof(struct clp_call);
    size_t bytes = used < LEAST_AREA ? LEAST_AREA : used < MOST_AREA ? used : MOST_AREA;
    struct clp_call_area *area = clp_pool_take(calls->pool, bytes);

    if (area == NULL)
        return false;
    bytes = (size_t)1 << area->area.class;
    area->room = (uint32_t)((bytes - sizeof *area) / sizeof area->items[0]);
    clp_area_set_kind(&area->area, CLP_AREA_CALLS);
    if (calls->last == NULL)
        calls->first = area;
    else
        calls->last->next = area;
    calls->last = area;
    return true;
}

static bool reserve_function(struct clp_calls *calls, uint32_t function)
{
    if (function == CLP_CALL_NO_FUNCTION || function < calls->room)
        return true;
    return clp_mem_grow(calls->mem, (void **)&calls->of_function, &calls->room,
                        function + 16 > calls->room * 2 ? function + 16 : calls->room * 2,
                        sizeof(struct clp_call *)) == CLP_OK;
}

/* The node at or above `from` that has the function; NULL: there is none. */
static struct clp_call *find_above(struct clp_call *from, uint32_t function)
{
    while (from != NULL && from->function != function)
        from = from->parent;
    return from;
}

static void join_ring(const struct clp_calls *calls, struct clp_call *parent, struct clp_call *child)
{
    struct clp_call *latest = parent->latest;

    child->next = latest == &calls->start ? child : latest->next;
    if (latest != &calls->start)
        latest->next = child;
    parent->latest = child;
}

/* Appends a node, which is in no index yet. NULL: no room. */
static struct clp_call *append(struct clp_calls *calls, struct clp_call *parent, size_t place,
                               uint32_t function)
{
    if (calls->count >= CLP_CALLS_MOST || !reserve_function(calls, function))
        return NULL;
    if ((calls->last == NULL || calls->last->count == calls->last->room) && !add_area(calls))
        return NULL;
    struct clp_call *call = &calls->last->items[calls->last->count];
    *call = (struct clp_call){
        .latest = &calls->start,
        .next = &calls->start,
        .place = place,
        .function = function,
        .id = calls->count,
        .parent = parent,
        .parent_id = parent != NULL ? parent->id : 0,
    };
    struct clp_call *above = parent != NULL ? find_above(parent, function) : NULL;
    call->home = above != NULL ? above : call;
    if (function != CLP_CALL_NO_FUNCTION) {
        call->of_same = calls->of_function[function];
        calls->of_function[function] = call;
    }
    return call;
}

/* Makes the node one of the tree. It is whole from here on, for a reader of the file, too. */
static void publish(struct clp_calls *calls)
{
    calls->count++;
    __atomic_store_n(&calls->last->count, calls->last->count + 1, __ATOMIC_RELEASE);
}

/* Parent, line and callee in one number: 17 + 21 + 26 bits. Roots have parent 0, their group stands for the callee. */
static uint64_t key_of(uint32_t parent, size_t place, uint32_t function)
{
    uint64_t line = place == 0 ? 0 : (place - clp_block_place(0)) / sizeof(struct clp_cell) + 1;

    return (uint64_t)parent << 47 | line << 26 | function;
}

_Static_assert(CLP_CALLS_MOST < 1 << 17 && CLP_FUNCTION_MOST_LINES < 1 << 21, "key_of has room");
#define MOST_FUNCTIONS (UINT32_C(1) << 26)

/* Makes `deeper`, the first of all nodes, so that a reader of the file finds it. */
static bool begin(struct clp_calls *calls)
{
    if (calls->deeper != &calls->start)
        return true;
    struct clp_call *deeper = append(calls, NULL, SIZE_MAX, CLP_CALL_NO_FUNCTION);
    if (deeper == NULL)
        return false;
    publish(calls);
    calls->deeper = deeper;
    return true;
}

/* The node with this key, which may be new. */
static struct clp_call *find(struct clp_calls *calls, struct clp_call *parent, size_t place,
                             uint32_t function, uint64_t key)
{
    uint64_t found;

    if (clp_hashmap_get(&calls->index, key, &found))
        return (struct clp_call *)(uintptr_t)found;
    struct clp_call *call = append(calls, parent, place, function);
    if (call == NULL)
        return calls->deeper;
    if (clp_hashmap_set(&calls->index, key, (uintptr_t)call) != CLP_OK) {
        if (function != CLP_CALL_NO_FUNCTION)
            calls->of_function[function] = call->of_same;
        return calls->deeper;
    }
    if (parent != NULL)
        join_ring(calls, parent, call);
    publish(calls);
    return call;
}

struct clp_call *clp_calls_root(struct clp_calls *calls, uint32_t group)
{
    if (!begin(calls) || group >= MOST_FUNCTIONS)
        return calls->deeper;
    struct clp_call *root = find(calls, NULL, SIZE_MAX, CLP_CALL_NO_FUNCTION, key_of(0, 0, group));
    if (root != calls->deeper)
        root->group = group;
    return root;
}

#define SEARCHED 16 /* children; a look in the hash map takes as long */

struct clp_call *clp_calls_search(struct clp_call *from, size_t place, uint32_t function)
{
    struct clp_call *call = from->latest;
    int left = SEARCHED;

    do {
        if (call->place == place && call->function == function)
            return from->latest = call;
        call = call->next;
    } while (call != from->latest && --left != 0);
    return NULL;
}

struct clp_call *clp_calls_find(struct clp_calls *calls, struct clp_call *from, size_t place,
                                uint32_t function)
{
    uint32_t count = calls->count;

    if (from == calls->deeper || function >= MOST_FUNCTIONS)
        return calls->deeper;
    struct clp_call *call = find(calls, from, place, function, key_of(from->id, place, function));
    if (call != calls->deeper)
        from->latest = call;
    if (calls->count != count)
        calls->fresh = call;
    return call;
}

struct clp_call *clp_calls_of(const struct clp_calls *calls, uint32_t function)
{
    return function < calls->room ? calls->of_function[function] : NULL;
}

uint32_t clp_call_group(const struct clp_call *call)
{
    while (call->parent != NULL)
        call = call->parent;
    return call->group;
}

/* ---- sums ---- */

void clp_call_counts_add(struct clp_call_counts *into, const struct clp_call_counts *from)
{
    into->calls += from->calls;
    into->ticks += from->ticks;
    into->correction += from->correction;
    into->again += from->again;
    into->again_correction += from->again_correction;
    into->increment += from->increment;
}

void clp_call_counts_subtract(struct clp_call_counts *from, const struct clp_call_counts *base)
{
    from->calls -= base->calls;
    from->ticks -= base->ticks;
    from->correction -= base->correction;
    from->again -= base->again;
    from->again_correction -= base->again_correction;
    from->increment -= base->increment;
}

struct clp_call_sums *clp_call_sums_new(const struct clp_calls *calls, uint32_t function,
                                        struct clp_pool *pool)
{
    uint32_t count = 0, i = 0;

    for (struct clp_call *call = clp_calls_of(calls, function); call != NULL; call = call->of_same)
        count++;
    struct clp_call_sums *sums =
        clp_pool_take(pool, sizeof *sums + count * sizeof sums->items[0]);
    if (sums == NULL)
        return NULL;
    sums->function = function;
    sums->count = count;
    for (struct clp_call *call = clp_calls_of(calls, function); call != NULL; call = call->of_same)
        sums->items[i++] = (struct clp_call_sum){.call = call, .id = call->id};
    return sums;
}

static void merge_sums(struct clp_call_sums *sums, const struct clp_call_sums *other,
                       void (*merge)(struct clp_call_counts *, const struct clp_call_counts *))
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < other->count; i++) {
        while (at < sums->count && sums->items[at].id > other->items[i].id)
            at++;
        if (at < sums->count && sums->items[at].id == other->items[i].id)
            merge(&sums->items[at].counts, &other->items[i].counts);
    }
}

void clp_call_sums_add(struct clp_call_sums *sums, const struct clp_call_sums *other)
{
    merge_sums(sums, other, clp_call_counts_add);
}

void clp_call_sums_subtract(struct clp_call_sums *sums, const struct clp_call_sums *other)
{
    merge_sums(sums, other, clp_call_counts_subtract);
}

struct clp_call_sum *clp_call_sums_find(struct clp_call_sums *sums, uint64_t id)
{
    uint32_t low = 0, high = sums != NULL ? sums->count : 0;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sums->items[middle].id == id)
            return &sums->items[middle];
        if (sums->items[middle].id > id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
