/* SPDX-License-Identifier: MIT */
#include "stack_samples.h"
#include "threads.h"
#include "view.h"

#define LEAST_ROOM 128 /* contexts for which there is room at any time, as far as `make` is called */
#define FIRST_AREA ((size_t)16 << 10)
#define MOST_AREA ((size_t)128 << 10)

void clp_stack_samples_init(struct clp_stack_samples *samples, struct clp_engine *engine)
{
    *samples = (struct clp_stack_samples){.engine = engine, .count = 1};
    clp_pool_init(&samples->spare, &samples->pages);
    samples->root = (struct clp_sampled_call){
        .home = &samples->root, .function = CLP_CALL_NO_FUNCTION, .cell = CLP_NO_CELL};
}

/* ---- memory ---- */

void clp_stack_samples_clear(struct clp_stack_samples *samples)
{
    struct clp_engine *engine = samples->engine;
    struct clp_sampled_calls *next;

    if (engine == NULL)
        return;
    for (struct clp_sampled_calls *area = samples->first; area != NULL; area = next) {
        next = area->next;
        if (!area->spare)
            clp_pool_give(&engine->pool, area);
    }
    for (size_t i = 0; i < samples->room; i++)
        if (samples->functions[i] != NULL)
            clp_pool_give(&engine->pool, samples->functions[i]);
    clp_mem_free(engine->mem, samples->functions, samples->room, sizeof *samples->functions);
    clp_pool_clear(&samples->spare);
    *samples = (struct clp_stack_samples){0};
}

static bool add_area(struct clp_stack_samples *samples, struct clp_pool *pool)
{
    size_t used = samples->count * sizeof(struct clp_sampled_call);
    struct clp_sampled_calls *area =
        clp_pool_take(pool, used < FIRST_AREA ? FIRST_AREA : used < MOST_AREA ? used : MOST_AREA);

    if (area == NULL)
        return false;
    area->room = (uint32_t)((((size_t)1 << area->area.class) - sizeof *area) / sizeof area->items[0]);
    clp_area_set_kind(&area->area, CLP_AREA_SAMPLED_CALLS);
    area->spare = pool == &samples->spare;
    struct clp_sampled_calls **end = samples->last != NULL ? &samples->last->next : &samples->first;
    while (*end != NULL)
        end = &(*end)->next;
    *end = area;
    if (samples->last == NULL)
        samples->last = area;
    return true;
}

static uint32_t free_calls(const struct clp_stack_samples *samples)
{
    uint32_t count = 0;

    for (const struct clp_sampled_calls *area = samples->last; area != NULL; area = area->next)
        count += area->room - area->count;
    return count;
}

static void make_room(struct clp_stack_samples *samples)
{
    uint32_t wanted = samples->count / 2 + LEAST_ROOM;

    if (samples->count < CLP_CALLS_MOST && free_calls(samples) < wanted)
        (void)add_area(samples, &samples->engine->pool);
}

clp_status clp_stack_samples_make(struct clp_stack_samples *samples, uint32_t function)
{
    struct clp_engine *engine = samples->engine;

    make_room(samples);
    if (function >= samples->room &&
        clp_mem_grow(engine->mem, (void **)&samples->functions, &samples->room,
                     function + 16 > samples->room * 2 ? function + 16 : samples->room * 2,
                     sizeof *samples->functions) != CLP_OK)
        return CLP_NO_MEMORY;
    if (samples->functions[function] != NULL)
        return CLP_OK;
    uint32_t lines = engine->functions.items[function].line_count;
    struct clp_sampled_function *made =
        clp_pool_take(&engine->pool, sizeof *made + lines * sizeof(struct clp_line_samples));
    if (made == NULL)
        return CLP_NO_MEMORY;
    made->function = function;
    made->line_count = lines;
    clp_area_set_kind(&made->area, CLP_AREA_SAMPLES);
    samples->functions[function] = made;
    return CLP_OK;
}

/* ---- calling contexts ---- */

/* Goes to an area that has room. Areas are used in the order of their list. */
static bool go_to_room(struct clp_stack_samples *samples)
{
    if (samples->count >= CLP_CALLS_MOST || (free_calls(samples) == 0 && !add_area(samples, &samples->spare)))
        return false;
    while (samples->last->count == samples->last->room)
        samples->last = samples->last->next;
    return true;
}

static struct clp_sampled_call *append(struct clp_stack_samples *samples, struct clp_sampled_call *parent,
                                       uint32_t function, uint32_t cell)
{
    struct clp_sampled_call *above = parent;

    if (!go_to_room(samples))
        return NULL;
    struct clp_sampled_call *call = &samples->last->items[samples->last->count];
    while (above != NULL && above->function != function)
        above = above->parent;
    *call = (struct clp_sampled_call){
        .parent = parent,
        .home = above != NULL ? above : call,
        .next = parent->child,
        .id = samples->count++,
        .parent_id = parent->id,
        .function = function,
        .cell = cell,
    };
    parent->child = call;
    __atomic_store_n(&samples->last->count, samples->last->count + 1, __ATOMIC_RELEASE);
    return call;
}

/* The context of a function that is called from `cell` of `parent`; NULL: there is no room for it, or it is not known. */
static struct clp_sampled_call *find_call(struct clp_stack_samples *samples, struct clp_sampled_call *parent,
                                          uint32_t function, uint32_t cell, bool known_only)
{
    struct clp_sampled_call **link = &parent->child;

    while (*link != NULL && ((*link)->function != function || (*link)->cell != cell))
        link = &(*link)->next;
    struct clp_sampled_call *call = *link;
    if (call == NULL)
        return known_only ? NULL : append(samples, parent, function, cell);
    *link = call->next; /* the next sample usually looks for the same */
    call->next = parent->child;
    parent->child = call;
    return call;
}

/* ---- a sample ---- */

/* Notes that the sample has this. False: it had it already. */
static bool meet(uint64_t *met, uint64_t number)
{
    bool first = *met != number;

    *met = number;
    return first;
}

/* Is the call of lines[at] by lines[at + 1] also further out on the stack? */
static bool calls_already(const struct clp_sampled_line *lines, size_t at, size_t count)
{
    for (size_t i = count - 1; i > at + 1; i--)
        if (lines[i - 1].function == lines[at].function && lines[i].function == lines[at + 1].function &&
            lines[i].cell == lines[at + 1].cell)
            return true;
    return false;
}

static void add_lines(struct clp_stack_samples *samples, const struct clp_sampled_line *lines, size_t count,
                      uint64_t weight, enum clp_sampled_state state)
{
    for (size_t i = 0; i < count; i++) {
        struct clp_line_samples *line = &samples->functions[lines[i].function]->lines[lines[i].cell];
        if (!meet(&line->met, samples->number))
            continue;
        if (i != 0) {
            line->nested += weight;
            continue;
        }
        line->self += weight;
        line->wait += state != CLP_SAMPLED_RUNS ? weight : 0;
        line->squares += state != CLP_SAMPLED_STILL ? (double)weight * (double)weight : 0;
        line->samples++;
    }
}

/* Adds the weight of a sample in which the function's context is not known to the context of another sample. */
static void add_to_latest(struct clp_sampled_function *function, struct clp_sampled_call *guess, uint32_t cell, uint64_t weight)
{
    *(function->latest != NULL ? &function->latest->ticks : &function->waiting) += weight;
    if (guess == NULL)
        return;
    function->guess = guess;
    function->guessed_cell = cell;
}

static void add_to_context(struct clp_sampled_function *function, struct clp_sampled_call *call, uint64_t weight, bool again)
{
    *(again ? &call->again : &call->ticks) += weight;
    call->ticks += function->waiting;
    function->waiting = 0;
    function->latest = call;
}

/* Adds the weight to the function and to the context in which it was called. Returns that context, or where it is not known
 * that of another sample. NULL: there is none, or no room for it. */
static struct clp_sampled_call *add_call(struct clp_stack_samples *samples, struct clp_sampled_call *caller,
                                         const struct clp_sampled_stack *stack, size_t at, uint64_t weight)
{
    const struct clp_sampled_line *lines = stack->lines;
    struct clp_sampled_function *function = samples->functions[lines[at].function];
    bool outermost = at == stack->count - 1, first = meet(&function->met, samples->number);
    bool again = !first && !outermost && calls_already(lines, at, stack->count);
    bool left = at < stack->left, doubtful = stack->doubtful && at == 0 && !outermost;
    uint32_t cell = outermost ? CLP_NO_CELL : lines[at + 1].cell;
    struct clp_sampled_call *call = NULL;

    if (first)
        function->total += weight;
    if (caller != NULL && !left)
        call = find_call(samples, caller->home, function->function, cell, doubtful);
    if (call != NULL)
        add_to_context(function, call, weight, again);
    else if (first && (left || doubtful))
        add_to_latest(function, caller, cell, weight);
    return call != NULL || !left ? call : function->latest;
}

void clp_stack_samples_add(struct clp_stack_samples *samples, const struct clp_sampled_stack *stack, uint64_t weight,
                           enum clp_sampled_state state)
{
    struct clp_sampled_call *call = &samples->root;

    samples->number++;
    add_lines(samples, stack->lines, stack->count, weight, state);
    for (size_t at = stack->count; at-- > 0;)
        call = add_call(samples, call, stack, at, weight);
}

bool clp_stack_samples_know(const struct clp_stack_samples *samples, uint32_t function)
{
    return samples->functions[function]->latest != NULL;
}

/* ---- settling ---- */

static void settle_line(struct clp_block *block, uint32_t at, struct clp_line_samples *line)
{
    block->cells[at].self += line->self;
    block->cells[at].nested += (int64_t)line->nested;
    clp_block_cpu(block)[at].wait += line->wait;
    if (block->light != NULL)
        block->light[at].squares += line->squares;
    *line = (struct clp_line_samples){.met = line->met};
}

/* What is met of functions that no view counts at the moment is dropped. */
static bool is_wanted(const struct clp_engine *engine, uint32_t function)
{
    return engine->views == NULL || clp_views_count(engine->views, function);
}

/* False: memory ran out, and the rest stays. */
static bool settle_function(struct clp_sampled_function *function, struct clp_thread *thread)
{
    if (!is_wanted(thread->engine, function->function)) {
        function->total = 0;
        for (uint32_t i = 0; i < function->line_count; i++)
            function->lines[i] = (struct clp_line_samples){.met = function->lines[i].met};
        return true;
    }
    struct clp_block *block = function->total != 0 ? clp_engine_block(thread, function->function) : NULL;
    if (function->total != 0 && block == NULL)
        thread->engine->lost = true;
    if (block == NULL)
        return function->total == 0;
    block->total += function->total;
    function->total = 0;
    for (uint32_t i = 0; i < function->line_count; i++)
        settle_line(block, i, &function->lines[i]);
    return true;
}

/* The engine's node for the context. It is looked up anew each time, because the engine may have forgotten its nodes. */
static struct clp_call *call_of(struct clp_engine *engine, struct clp_sampled_call *call)
{
    size_t place = call->cell == CLP_NO_CELL ? 0 : clp_block_place(call->cell);

    if (call->call == NULL)
        call->call = clp_calls_find(&engine->calls, call_of(engine, call->parent)->home, place, call->function);
    return call->call;
}

/* Where no sample has told for certain what called a function, the guess must do: it is right more often than not. */
static void settle_guess(struct clp_stack_samples *samples, struct clp_sampled_function *function)
{
    if (function->waiting == 0 || function->guess == NULL)
        return;
    struct clp_sampled_call *call =
        find_call(samples, function->guess->home, function->function, function->guessed_cell, false);
    if (call != NULL)
        add_to_context(function, call, 0, false);
}

static void settle_calls(struct clp_stack_samples *samples, const struct clp_thread *thread)
{
    samples->root.call = clp_calls_root(&samples->engine->calls, thread->group);
    for (struct clp_sampled_calls *area = samples->first; area != NULL; area = area->next)
        for (uint32_t i = 0; i < area->count; i++)
            area->items[i].call = NULL;
    for (struct clp_sampled_calls *area = samples->first; area != NULL; area = area->next) {
        for (uint32_t i = 0; i < area->count; i++) {
            struct clp_sampled_call *call = &area->items[i];
            if (call->ticks == 0 && call->again == 0)
                continue;
            if (is_wanted(samples->engine, call->function)) {
                struct clp_call *into = call_of(samples->engine, call);
                into->counts.ticks += call->ticks;
                into->counts.again += call->again;
            }
            call->ticks = call->again = 0;
        }
    }
    samples->engine->calls.fresh = NULL; /* whether a new node goes through other code is not known here */
}

void clp_stack_samples_settle(struct clp_stack_samples *samples, struct clp_thread *thread)
{
    bool whole = true;

    make_room(samples);
    if (samples->settled == samples->number)
        return; /* many functions may be selected between two samples */
    for (size_t i = 0; i < samples->room; i++)
        if (samples->functions[i] != NULL) {
            settle_guess(samples, samples->functions[i]);
            whole = settle_function(samples->functions[i], thread) && whole;
        }
    settle_calls(samples, thread);
    if (whole)
        samples->settled = samples->number;
}
