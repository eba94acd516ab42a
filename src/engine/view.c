/* SPDX-License-Identifier: MIT */
#include "view.h"
#include "engine.h"
#include "suspended.h"

static const uint32_t closed;

const struct clp_audience clp_nobody = {.gate = &closed};

/* ---- all views ---- */

void clp_views_init(struct clp_views *views, struct clp_engine *engine, struct clp_pages *pages)
{
    *views = (struct clp_views){.engine = engine};
    clp_pool_init(&views->pool, pages);
    clp_pool_init(&views->scratch, pages);
}

static void free_audiences(struct clp_views *views)
{
    struct clp_mem *mem = views->engine->mem;

    for (size_t i = 0; i < views->room; i++)
        if (views->audiences[i] != NULL)
            clp_mem_free(mem, views->audiences[i], 1, sizeof *views->audiences[i]);
    clp_mem_free(mem, views->audiences, views->room, sizeof *views->audiences);
    views->audiences = NULL;
    views->room = 0;
}

void clp_views_forget(struct clp_views *views)
{
    free_audiences(views);
    for (struct clp_view *view = views->first; view != NULL; view = view->next)
        view->base = view->sum = (struct clp_engine_totals){0};
}

void clp_views_clear(struct clp_views *views)
{
    free_audiences(views);
    clp_pool_clear(&views->pool);
    clp_pool_clear(&views->scratch);
    clp_views_init(views, views->engine, views->pool.pages);
}

struct clp_audience *clp_views_audience(struct clp_views *views, uint32_t function)
{
    struct clp_mem *mem = views->engine->mem;

    if (function >= views->room &&
        clp_mem_grow(mem, (void **)&views->audiences, &views->room,
                     function + 16 > views->room * 2 ? function + 16 : views->room * 2,
                     sizeof *views->audiences) != CLP_OK)
        return NULL;
    if (views->audiences[function] == NULL) {
        views->audiences[function] = clp_mem_alloc(mem, 1, sizeof **views->audiences);
        if (views->audiences[function] != NULL)
            *views->audiences[function] = clp_nobody;
    }
    return views->audiences[function];
}

static struct clp_audience *audience_of(const struct clp_view *view, const struct clp_view_item *item)
{
    return view->views->audiences[item->function];
}

/* ---- a view's blocks ---- */

static struct clp_block *new_block(const struct clp_view *view, uint32_t function)
{
    struct clp_engine *engine = view->views->engine;
    struct clp_block *block = clp_block_new(view->pool, &engine->functions.items[function],
                                            function, engine->parts);

    engine->lost |= block == NULL;
    return block;
}

static void drop_block(const struct clp_view *view, struct clp_block **block)
{
    if (*block != NULL)
        clp_block_free(view->pool, *block);
    *block = NULL;
}

static void drop_calls(const struct clp_view *view, struct clp_call_sums **sums)
{
    if (*sums != NULL)
        clp_pool_give(view->pool, *sums);
    *sums = NULL;
}

/* Says in a live file what the area is. */
static void set_kind(const struct clp_view *view, struct clp_area *area, enum clp_area_kind kind)
{
    if (view->pool != &view->views->pool)
        clp_area_set_kind(area, kind);
}

/* The item's sum, made if need be, with room for all that is counted by now. NULL: no memory. */
static struct clp_block *sum_of(const struct clp_view *view, struct clp_view_item *item)
{
    struct clp_block *old = item->sum, *block;

    if (old != NULL && (view->views->engine->parts & ~old->parts) == 0)
        return old;
    block = new_block(view, item->function);
    if (block != NULL && old != NULL) {
        clp_block_merge(block, old);
        drop_block(view, &item->sum);
    }
    if (block != NULL)
        item->sum = block;
    return block;
}

/* ---- the counters of a function, in all threads ---- */

static void each_block(struct clp_engine *engine, uint32_t function,
                       void (*use)(struct clp_block *block, struct clp_block *with),
                       struct clp_block *with)
{
    for (struct clp_thread *thread = engine->threads; thread != NULL; thread = thread->next)
        if (clp_engine_has_block(thread, function))
            use(thread->blocks[function], with);
    for (struct clp_thread *ended = engine->ended; ended != NULL; ended = ended->next)
        if (clp_engine_has_block(ended, function))
            use(ended->blocks[function], with);
}

static void give_largest(struct clp_block *block, struct clp_block *sum)
{
    clp_block_merge_largest(sum, block);
}

static void forget_largest(struct clp_block *block, struct clp_block *nothing)
{
    (void)nothing;
    clp_block_forget_largest(block);
}

static bool has_counters(const struct clp_engine *engine, uint32_t function)
{
    for (const struct clp_thread *thread = engine->threads; thread != NULL; thread = thread->next)
        if (clp_engine_has_block(thread, function))
            return true;
    for (const struct clp_thread *ended = engine->ended; ended != NULL; ended = ended->next)
        if (clp_engine_has_block(ended, function))
            return true;
    return false;
}

/* Raises the largest values of all attached views of the function to those of the counters. The counters'
 * largest values begin anew. */
static void share_largest(struct clp_views *views, uint32_t function)
{
    for (struct clp_view *view = views->first; view != NULL; view = view->next) {
        struct clp_view_item *item = clp_view_find(view, function);
        if (item != NULL && item->attached && sum_of(view, item) != NULL)
            each_block(views->engine, function, give_largest, item->sum);
    }
    each_block(views->engine, function, forget_largest, NULL);
}

/* ---- attaching and detaching ---- */

/* The counts of the nodes of the item's calls so far, in the view's pool. NULL: no memory. */
static struct clp_call_sums *calls_now(const struct clp_view *view, const struct clp_view_item *item,
                                       const struct clp_engine_copy *copy)
{
    struct clp_call_sums *sums = clp_engine_copy_calls(copy, item->function, view->pool);

    view->views->engine->lost |= sums == NULL;
    return sums;
}

struct clp_compiled *clp_views_compiled(const struct clp_views *views, uint32_t function)
{
    const struct clp_audience *audience = function < views->room ? views->audiences[function] : NULL;

    return audience != NULL && *audience->gate != 0 ? &views->engine->functions.items[function].compiled : NULL;
}

static struct clp_compiled *compiled_of(const struct clp_view *view, const struct clp_view_item *item)
{
    return &view->views->engine->functions.items[item->function].compiled;
}

struct clp_compiled clp_view_compiled(const struct clp_view *view, const struct clp_view_item *item)
{
    const struct clp_compiled *now = compiled_of(view, item), *base = &item->compiled_base;
    struct clp_compiled sum = item->compiled_sum;

    if (item->attached) {
        sum.calls += now->calls - base->calls;
        sum.times += now->times - base->times;
        sum.nanos += now->nanos - base->nanos;
    }
    if (now->unseen)
        sum.calls = 0;
    return sum;
}

static bool attach(const struct clp_view *view, struct clp_view_item *item,
                   const struct clp_engine_copy *copy)
{
    item->compiled_base = *compiled_of(view, item);
    drop_block(view, &item->base);
    drop_calls(view, &item->call_base);
    item->attached = false; /* its own sum takes no part in share_largest */
    if (has_counters(view->views->engine, item->function)) {
        share_largest(view->views, item->function);
        item->base = new_block(view, item->function);
        item->call_base = calls_now(view, item, copy);
        if (item->base == NULL || item->call_base == NULL)
            return false;
        set_kind(view, &item->base->area, CLP_AREA_BASE);
        set_kind(view, &item->call_base->area, CLP_AREA_CALL_BASE);
        clp_engine_copy_merge(copy, item->base);
        clp_block_forget_largest(item->base);
    }
    item->attached = true;
    return true;
}

/* Adds to `sums`, which have the present counts of the nodes, what the item counted before its base, and takes
 * the base off. */
static void settle_calls(const struct clp_view_item *item, struct clp_call_sums *sums)
{
    if (item->call_sum != NULL)
        clp_call_sums_add(sums, item->call_sum);
    if (item->attached && item->call_base != NULL)
        clp_call_sums_subtract(sums, item->call_base);
}

/* Does for the nodes of the item's calls what detach does for its lines. */
static bool detach_calls(const struct clp_view *view, struct clp_view_item *item,
                         const struct clp_engine_copy *copy)
{
    struct clp_call_sums *now = calls_now(view, item, copy), *sum = calls_now(view, item, copy);
    bool done = now != NULL && sum != NULL;

    if (done) {
        settle_calls(item, sum);
        drop_calls(view, &item->call_sum);
        item->call_sum = sum;
        set_kind(view, &sum->area, CLP_AREA_CALL_SUM);
    } else {
        drop_calls(view, &sum);
    }
    drop_calls(view, &item->call_base);
    if (done && view->pool != &view->views->pool) {
        item->call_base = now;
        set_kind(view, &now->area, CLP_AREA_CALL_BASE);
    } else {
        drop_calls(view, &now);
    }
    return done;
}

/* Adds what the item counted since its base to its sum. A live file keeps showing the engine's counters, too.
 * So its item gets their present values as its base: only this tells a reader that the sum contains them
 * already. */
static bool detach(const struct clp_view *view, struct clp_view_item *item,
                   const struct clp_engine_copy *copy)
{
    struct clp_block *counters = new_block(view, item->function), *sum = sum_of(view, item);
    bool done = counters != NULL && sum != NULL;

    if (done) {
        clp_area_set_kind(&counters->area, CLP_AREA_FREE);
        clp_engine_copy_merge(copy, counters);
        clp_block_merge(sum, counters);
        if (item->base != NULL)
            clp_block_subtract(sum, item->base);
    }
    item->compiled_sum = clp_view_compiled(view, item);
    drop_block(view, &item->base);
    if (done && view->pool != &view->views->pool) {
        item->base = counters;
        clp_area_set_kind(&counters->area, CLP_AREA_BASE);
    } else {
        drop_block(view, &counters);
    }
    done &= detach_calls(view, item, copy);
    item->attached = false;
    return done;
}

static clp_status begin(struct clp_views *views, struct clp_engine_copy *copy, uint64_t now)
{
    clp_status status = clp_engine_copy_init(copy, views->engine, &views->scratch, now);

    views->engine->lost |= status != CLP_OK;
    return status;
}

static clp_status finish(struct clp_engine_copy *copy, bool done)
{
    clp_engine_copy_clear(copy);
    return done ? CLP_OK : CLP_NO_MEMORY;
}

/* ---- functions ---- */

struct clp_view_item *clp_view_find(const struct clp_view *view, uint32_t function)
{
    uint64_t place;

    return clp_hashmap_get(&view->index, function, &place) ? &view->items[place] : NULL;
}

bool clp_view_has(const struct clp_view *view, uint32_t function)
{
    const struct clp_view_item *item = clp_view_find(view, function);

    return item != NULL && item->selected;
}

/* The view's item of the function, made if need be. NULL: no memory, and nothing has changed. */
static struct clp_view_item *find_or_append(struct clp_view *view, uint32_t function)
{
    struct clp_mem *mem = view->views->engine->mem;
    struct clp_view_item *item = clp_view_find(view, function);

    if (item != NULL)
        return item;
    if (view->count == view->room &&
        clp_mem_grow(mem, (void **)&view->items, &view->room, view->room * 2 + 8,
                     sizeof *view->items) != CLP_OK)
        return NULL;
    if (clp_hashmap_set(&view->index, function, view->count) != CLP_OK)
        return NULL;
    item = &view->items[view->count++];
    *item = (struct clp_view_item){.function = function};
    return item;
}

/* Makes the function a shared one, because a second view takes it. If the first view is not counting now, what
 * it has counted is put into its sum. */
static bool share(struct clp_audience *audience, uint32_t function, const struct clp_engine_copy *copy)
{
    struct clp_view *first = audience->sole;
    struct clp_view_item *item = clp_view_find(first, function);
    bool done = first->counting || !item->attached || detach(first, item, copy);

    first->mixed = true;
    audience->shared = true;
    audience->sole = NULL;
    audience->counting = first->gate;
    audience->gate = &audience->counting;
    return done;
}

/* `copy` may be NULL where the function is new to all views and was never counted. */
static bool join(struct clp_view *view, struct clp_audience *audience, struct clp_view_item *item,
                 const struct clp_engine_copy *copy)
{
    bool done = audience->sole == NULL || share(audience, item->function, copy);

    audience->views++;
    item->selected = true;
    if (audience->shared) {
        audience->counting += view->gate;
    } else {
        audience->sole = view;
        audience->gate = &view->gate;
    }
    view->mixed |= audience->shared || !view->counting;
    return (!view->counting || attach(view, item, copy)) && done;
}

clp_status clp_view_add(struct clp_view *view, uint32_t function, uint64_t now)
{
    struct clp_audience *audience = clp_views_audience(view->views, function);
    struct clp_view_item *item = audience != NULL ? find_or_append(view, function) : NULL;
    struct clp_engine_copy copy;

    if (item == NULL) {
        view->views->engine->lost = true;
        return CLP_NO_MEMORY;
    }
    if (item->selected)
        return CLP_OK;
    /* A copy has the counters of every running body. It would be most of the time that importing a package takes. */
    if (audience->views == 0 && !has_counters(view->views->engine, function))
        return join(view, audience, item, NULL) ? CLP_OK : CLP_NO_MEMORY;
    if (begin(view->views, &copy, now) != CLP_OK)
        return CLP_NO_MEMORY;
    return finish(&copy, join(view, audience, item, &copy));
}

static void leave(struct clp_view *view, struct clp_view_item *item)
{
    struct clp_audience *audience = audience_of(view, item);

    item->selected = false;
    if (audience->shared)
        audience->counting -= view->gate;
    if (--audience->views == 0) {
        bool slow = audience->slow;
        *audience = clp_nobody;
        audience->slow = slow;
    }
}

clp_status clp_view_remove(struct clp_view *view, uint32_t function, uint64_t now)
{
    struct clp_view_item *item = clp_view_find(view, function);
    struct clp_engine_copy copy;
    bool done = true;

    if (item == NULL || !item->selected)
        return CLP_OK;
    if (begin(view->views, &copy, now) != CLP_OK)
        return CLP_NO_MEMORY;
    if (item->attached)
        done = detach(view, item, &copy);
    view->mixed = true;
    leave(view, item);
    return finish(&copy, done);
}

/* ---- windows ---- */

static bool attach_all(struct clp_view *view, const struct clp_engine_copy *copy)
{
    bool done = true, mixed = false;

    for (size_t i = 0; i < view->count; i++) {
        struct clp_view_item *item = &view->items[i];
        if (!item->selected) {
            mixed = true;
            continue;
        }
        if (!item->attached)
            done &= attach(view, item, copy);
        if (audience_of(view, item)->shared) {
            audience_of(view, item)->counting += !view->limited;
            mixed = true;
        }
    }
    view->mixed = mixed || !done;
    return done;
}

static clp_status begin_counting(struct clp_view *view, uint64_t now)
{
    struct clp_engine_copy copy;
    clp_status status = CLP_OK;

    if (view->mixed) {
        if (begin(view->views, &copy, now) != CLP_OK)
            return CLP_NO_MEMORY;
        status = finish(&copy, attach_all(view, &copy));
    }
    view->counting = 1;
    view->gate = !view->limited;
    view->views->counting++;
    clp_engine_sum(view->views->engine, &view->base);
    return status;
}

static void add_tensors(struct clp_tensor_cell *sum, const struct clp_tensor_cell *now,
                        const struct clp_tensor_cell *base)
{
    sum->allocated += now->allocated - base->allocated;
    sum->freed += now->freed - base->freed;
    sum->reserved += now->reserved - base->reserved;
}

static void add_difference(struct clp_engine_totals *sum, const struct clp_engine_totals *now,
                           const struct clp_engine_totals *base)
{
    clp_engine_add_total(&sum->correction, now->correction);
    clp_engine_add_total(&sum->correction, -base->correction);
    sum->stopped += now->stopped - base->stopped;
    sum->reads += now->reads - base->reads;
    clp_engine_add_total(&sum->others_grown, now->others_grown);
    clp_engine_add_total(&sum->others_grown, -base->others_grown);
    clp_engine_add_total(&sum->others_released, now->others_released);
    clp_engine_add_total(&sum->others_released, -base->others_released);
    clp_gc_add(&sum->gc_outside, now->gc_outside);
    clp_gc_subtract(&sum->gc_outside, base->gc_outside);
    for (size_t i = 0; i < CLP_DEVICES; i++)
        add_tensors(&sum->tensors_outside[i], &now->tensors_outside[i], &base->tensors_outside[i]);
}

void clp_view_totals(const struct clp_view *view, struct clp_engine_totals *totals)
{
    struct clp_engine_totals now;

    *totals = view->sum;
    if (view->counting == 0)
        return;
    clp_engine_sum(view->views->engine, &now);
    add_difference(totals, &now, &view->base);
}

static bool is_shared(const struct clp_view *view, const struct clp_view_item *item)
{
    return item->selected && audience_of(view, item)->shared;
}

static void leave_audiences(const struct clp_view *view)
{
    for (size_t i = 0; view->mixed && i < view->count; i++)
        if (is_shared(view, &view->items[i]))
            audience_of(view, &view->items[i])->counting -= !view->limited;
}

static bool detach_shared(struct clp_view *view, const struct clp_engine_copy *copy)
{
    bool done = true;

    for (size_t i = 0; view->mixed && i < view->count; i++) {
        struct clp_view_item *item = &view->items[i];
        if (is_shared(view, item) && item->attached)
            done &= detach(view, item, copy);
    }
    return done;
}

/* Detaches the functions that run in some thread: while other views count, these bodies go on counting. */
static bool detach_running(struct clp_view *view, const struct clp_engine_copy *copy)
{
    bool done = true;

    for (size_t i = 0; i < copy->count; i++) {
        const struct clp_thread *thread = copy->threads[i].from;
        for (const struct clp_activation *at = thread->stack + 1; at <= thread->top; at++) {
            struct clp_view_item *item = clp_view_find(view, at->block->function);
            if (item == NULL || !item->attached)
                continue;
            done &= detach(view, item, copy);
            view->mixed = true;
        }
    }
    return done;
}

/* Detaches the functions on stacks that are kept: while other views count, these bodies go on counting. */
static bool detach_parked(struct clp_view *view, const struct clp_engine_copy *copy)
{
    const struct clp_engine *engine = view->views->engine;
    bool done = true;

    for (size_t i = 0; engine->parked.count != 0 && i < view->count; i++) {
        struct clp_view_item *item = &view->items[i];
        if (!item->attached || !clp_engine_is_parked(engine, item->function))
            continue;
        done &= detach(view, item, copy);
        view->mixed = true;
    }
    return done;
}

static void unwind_all(struct clp_engine *engine, uint64_t now)
{
    clp_engine_forget_stacks(engine);
    for (struct clp_thread *thread = engine->threads; thread != NULL; thread = thread->next)
        clp_engine_unwind(thread, now);
}

static clp_status end_counting(struct clp_view *view, uint64_t now)
{
    struct clp_engine_copy copy;
    bool done;

    clp_view_totals(view, &view->sum);
    view->counting = view->gate = 0;
    if (--view->views->counting == 0)
        unwind_all(view->views->engine, now);
    if (view->views->counting == 0 && !view->mixed)
        return CLP_OK;
    leave_audiences(view); /* also where there is no memory for the rest */
    if (begin(view->views, &copy, now) != CLP_OK)
        return CLP_NO_MEMORY;
    done = detach_shared(view, &copy);
    done &= detach_running(view, &copy);
    done &= detach_parked(view, &copy);
    return finish(&copy, done);
}

clp_status clp_view_set_counting(struct clp_view *view, bool counting, uint64_t now)
{
    if ((view->counting != 0) == counting)
        return CLP_OK;
    return counting ? begin_counting(view, now) : end_counting(view, now);
}

clp_status clp_view_reset(struct clp_view *view, uint64_t now)
{
    struct clp_engine_copy copy;
    bool done = true;

    view->sum = (struct clp_engine_totals){0};
    clp_engine_sum(view->views->engine, &view->base);
    if (begin(view->views, &copy, now) != CLP_OK)
        return CLP_NO_MEMORY;
    for (size_t i = 0; i < view->count; i++) {
        struct clp_view_item *item = &view->items[i];
        drop_block(view, &item->sum);
        drop_calls(view, &item->call_sum);
        item->compiled_sum = (struct clp_compiled){0};
        if (item->attached)
            done &= attach(view, item, &copy);
    }
    view->mixed |= !done;
    return finish(&copy, done);
}

/* ---- beginning and end of a view ---- */

void clp_view_init(struct clp_view *view, struct clp_views *views, bool live)
{
    *view = (struct clp_view){.views = views, .pool = live ? &views->engine->pool : &views->pool,
                              .next = views->first};
    clp_hashmap_init(&view->index, views->engine->mem);
    views->first = view;
}

void clp_view_clear(struct clp_view *view, uint64_t now)
{
    struct clp_views *views = view->views;
    struct clp_view **link = &views->first;

    (void)clp_view_set_counting(view, false, now);
    for (size_t i = 0; i < view->count; i++) {
        drop_block(view, &view->items[i].sum);
        drop_block(view, &view->items[i].base);
        drop_calls(view, &view->items[i].call_sum);
        drop_calls(view, &view->items[i].call_base);
        if (view->items[i].selected)
            leave(view, &view->items[i]);
    }
    while (*link != view)
        link = &(*link)->next;
    *link = view->next;
    clp_mem_free(views->engine->mem, view->items, view->room, sizeof *view->items);
    clp_hashmap_clear(&view->index);
}

/* ---- numbers ---- */

struct clp_block *clp_view_sum(const struct clp_view *view, const struct clp_view_item *item,
                               const struct clp_engine_copy *copy, uint32_t parts)
{
    const struct clp_function *function =
        &view->views->engine->functions.items[item->function];
    struct clp_block *block =
        clp_block_new(&view->views->pool, function, item->function, parts);

    if (block == NULL)
        return NULL;
    if (item->sum != NULL)
        clp_block_merge(block, item->sum);
    if (item->attached)
        clp_engine_copy_merge(copy, block);
    if (item->attached && item->base != NULL)
        clp_block_subtract(block, item->base);
    return block;
}

struct clp_call_sums *clp_view_calls(const struct clp_view *view, const struct clp_view_item *item,
                                     const struct clp_engine_copy *copy)
{
    struct clp_pool *pool = &view->views->pool;
    struct clp_call_sums *sums =
        item->attached ? clp_engine_copy_calls(copy, item->function, pool)
                       : clp_call_sums_new(&copy->from->calls, item->function, pool);

    if (sums != NULL)
        settle_calls(item, sums);
    return sums;
}

bool clp_view_has_groups(const struct clp_view *view, const struct clp_view_item *item)
{
    return view->views->engine->groups.count != 0 && item->attached && item->sum == NULL &&
           item->base == NULL;
}

bool clp_views_count(const struct clp_views *views, uint32_t function)
{
    return function < views->room && views->audiences[function] != NULL && *views->audiences[function]->gate != 0;
}
