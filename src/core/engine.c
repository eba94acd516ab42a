/* SPDX-License-Identifier: MIT */
#include "engine.h"
#include <stdlib.h>
#include <string.h>

#define FIRST_STACK_ROOM 64

/* A body that is suspended, and where. */
struct clp_suspended {
    struct clp_suspended *next_free;
    const void *frame; /* the body's; NULL while the record is free */
    uint32_t function;
    uint32_t line;
    bool on_line;     /* had its first line begun? */
    uint64_t carried; /* ticks of the line's execution so far */
    uint64_t since;   /* the clock itself: it may resume in a thread with another standstill */
};

/* A body that was suspended with the whole of its stack. */
struct parked_body {
    struct clp_suspended place;
    uint64_t code;
    bool off_line;
};

struct clp_parked {
    size_t count;
    struct parked_body bodies[];
};

static void set_thread_costs(struct clp_thread *thread, const struct clp_costs *costs)
{
    thread->line_cost = costs->line;
    thread->enter = costs->enter;
    thread->leave = costs->leave;
    thread->last_line = costs->last_line;
    thread->line_ticks = (int64_t)(costs->line / CLP_CORRECTION_ONE);
    thread->leave_ticks = (int64_t)((costs->line + costs->leave.before) / CLP_CORRECTION_ONE);
    thread->suspend_ticks = (int64_t)((costs->line + costs->suspend.before) / CLP_CORRECTION_ONE);
}

void clp_engine_set_costs(struct clp_engine *engine, const struct clp_costs *costs)
{
    engine->costs = *costs;
    for (struct clp_thread *thread = engine->threads; thread != NULL; thread = thread->next)
        set_thread_costs(thread, costs);
}

void clp_engine_init(struct clp_engine *engine, struct clp_mem *mem, struct clp_pages *pages)
{
    *engine = (struct clp_engine){.mem = mem};
    clp_functions_init(&engine->functions, mem);
    clp_pool_init(&engine->pool, pages);
    clp_groups_init(&engine->groups, mem);
    clp_hashmap_init(&engine->suspended, mem);
    clp_hashmap_init(&engine->parked, mem);
}

/* ---- threads ---- */

static struct clp_activation *new_stack(struct clp_engine *engine, size_t room)
{
    struct clp_area *area =
        clp_pool_take(&engine->pool, CLP_STACK_HEAD + room * sizeof(struct clp_activation));

    if (area == NULL)
        return NULL;
    clp_area_set_kind(area, CLP_AREA_STACK);
    return (struct clp_activation *)((char *)area + CLP_STACK_HEAD);
}

static void free_stack(struct clp_engine *engine, struct clp_activation *stack)
{
    clp_pool_give(&engine->pool, (char *)stack - CLP_STACK_HEAD);
}

static void free_thread(struct clp_thread *thread)
{
    struct clp_engine *engine = thread->engine;

    for (size_t i = 0; i < thread->block_room; i++) {
        if (thread->blocks[i] != NULL)
            clp_block_free(&engine->pool, thread->blocks[i]);
    }
    clp_mem_free(engine->mem, thread->blocks, thread->block_room, sizeof(struct clp_block *));
    free_stack(engine, thread->stack);
    clp_pool_give(&engine->pool, thread);
}

static struct clp_thread *new_thread(struct clp_engine *engine)
{
    struct clp_thread *thread = clp_pool_take(&engine->pool, sizeof *thread);

    if (thread == NULL)
        return NULL;
    thread->engine = engine;
    thread->stack = new_stack(engine, FIRST_STACK_ROOM);
    if (thread->stack == NULL) {
        clp_pool_give(&engine->pool, thread);
        return NULL;
    }
    thread->stack_room = FIRST_STACK_ROOM;
    set_thread_costs(thread, &engine->costs);
    thread->last_room = thread->stack + thread->stack_room - 1;
    thread->outside.open = 1;
    thread->top = thread->stack;
    thread->top->cell = &thread->outside;
    clp_area_set_kind(&thread->area, CLP_AREA_THREAD);
    return thread;
}

/* The size of the process; `own` is what the thread did to it. */
static void set_rss(struct clp_thread *thread, int64_t rss, int64_t own)
{
    thread->engine->rss = rss;
    thread->changes = thread->engine->changes;
    thread->usage = rss > 0 ? (uint32_t)(rss / CLP_USAGE_UNIT) : 0;
    thread->rss += own;
}

static void leave_open(struct clp_thread *thread, int64_t bytes)
{
    struct clp_engine *engine = thread->engine;

    engine->others += bytes;
    if (bytes > 0)
        thread->others_grown += bytes;
    else
        thread->others_released -= bytes;
    if (engine->open_count == CLP_OPEN_CHANGES)
        memmove(engine->open, engine->open + 1, --engine->open_count * sizeof *engine->open);
    engine->open[engine->open_count++] = (struct clp_rss_change){++engine->changes, bytes, 0};
}

void clp_engine_set_rss_span(struct clp_engine *engine, uint64_t ticks)
{
    engine->rss_span = ticks;
    for (struct clp_thread *thread = engine->threads; thread != NULL; thread = thread->next)
        thread->rss_span = ticks;
}

struct clp_thread *clp_engine_new_thread(struct clp_engine *engine, uint64_t now, int64_t rss)
{
    struct clp_thread *thread = new_thread(engine);

    if (thread == NULL) {
        engine->lost = true;
        return NULL;
    }
    thread->last = now;
    if (engine->knows_rss && rss != engine->rss)
        leave_open(thread, rss - engine->rss);
    engine->knows_rss = true;
    set_rss(thread, rss, rss);
    thread->last_rss = rss;
    thread->rss_span = engine->rss_span;
    thread->next = engine->threads;
    engine->threads = thread;
    return thread;
}

static bool lose(struct clp_thread *thread)
{
    thread->broken = true;
    thread->engine->lost = true;
    return false;
}

static struct clp_block *block_for(struct clp_thread *thread, uint32_t function)
{
    struct clp_engine *engine = thread->engine;

    if (CLP_LIKELY(clp_engine_has_block(thread, function)))
        return thread->blocks[function];
    if (function >= thread->block_room) {
        size_t room = thread->block_room * 2 > function ? thread->block_room * 2 : function + 16u;
        if (clp_mem_grow(engine->mem, (void **)&thread->blocks, &thread->block_room, room,
                         sizeof(struct clp_block *)) != CLP_OK)
            return NULL;
    }
    thread->blocks[function] = clp_block_new(&engine->pool, &engine->functions.items[function],
                                             function, engine->with_rss);
    return thread->blocks[function];
}

/* What the ended threads of the group have counted; NULL: no memory. */
static struct clp_thread *ended_of(struct clp_engine *engine, uint32_t group)
{
    struct clp_thread *ended = engine->ended;

    while (ended != NULL && ended->group != group)
        ended = ended->next;
    if (ended != NULL || (ended = new_thread(engine)) == NULL)
        return ended;
    ended->group = group;
    ended->next = engine->ended;
    engine->ended = ended;
    return ended;
}

/* False: no memory; the rest waits in its thread. */
static bool merge_blocks(struct clp_thread *into, struct clp_thread *from)
{
    for (uint32_t i = 0; i < from->block_room; i++) {
        struct clp_block *block;
        if (from->blocks[i] == NULL)
            continue;
        if ((block = block_for(into, i)) == NULL)
            return false;
        clp_block_merge(block, from->blocks[i]);
        clp_block_free(&from->engine->pool, from->blocks[i]);
        from->blocks[i] = NULL;
    }
    return true;
}

void clp_engine_reap(struct clp_engine *engine)
{
    struct clp_thread **link = &engine->threads;

    while (*link != NULL) {
        struct clp_thread *thread = *link;
        if (!thread->ended) {
            link = &thread->next;
            continue;
        }
        struct clp_thread *into = ended_of(engine, thread->group);
        if (into == NULL)
            return; /* it stays in the list; nothing is lost */
        clp_engine_unwind(thread, thread->last + thread->stopped);
        if (!merge_blocks(into, thread))
            return;
        into->correction += thread->correction;
        into->stopped += thread->stopped;
        into->reads += thread->reads;
        into->others_grown += thread->others_grown;
        into->others_released += thread->others_released;
        *link = thread->next;
        free_thread(thread);
    }
}

/* What a suspension and a resumption go through costs them a third less without calls. */
#define INLINE inline __attribute__((always_inline))

/* ---- intervals and stays ---- */

static void note_rss_change(struct clp_rss_cell *cell, int64_t change)
{
    int64_t size = change < 0 ? -change : change;
    int64_t largest = cell->largest < 0 ? -cell->largest : cell->largest;

    if (change > 0)
        cell->grown += change;
    else
        cell->released -= change;
    if (size > largest)
        cell->largest = change;
}

static bool on_line(const struct clp_thread *thread)
{
    return thread->top->cell != &thread->outside;
}

static struct clp_rss_cell *rss_cell(const struct clp_activation *top)
{
    return &top->block->rss[top->cell - top->block->cells];
}

/* What the line event of the stay on top cost, if it belongs to this activation. */
static inline uint64_t own_cost(const struct clp_thread *thread)
{
    return on_line(thread) && !thread->top->continued ? thread->line_cost : 0;
}

static void take_rss(struct clp_thread *thread, int64_t rss, int64_t own)
{
    set_rss(thread, rss, own);
    if (thread->rss != thread->last_rss)
        clp_engine_make_special(thread);
}

void clp_engine_note_rss(struct clp_thread *thread, int64_t rss)
{
    take_rss(thread, rss, rss - thread->engine->rss);
}

/* The other threads cannot give back what they do not hold. `now`: it was seen just now. */
static bool is_own_release(const struct clp_engine *engine, const struct clp_reach *reach,
                           uint64_t bytes, bool now)
{
    if (bytes <= reach->released)
        return true;
    return now && (reach->ran_through || (reach->never_waited && engine->others < 0));
}

/* How much of the change is within reach. Memory comes page by page, but goes block by block: a
 * release is taken as a whole. */
static int64_t part_within(const struct clp_engine *engine, const struct clp_rss_change *change,
                           struct clp_reach *reach, bool now)
{
    uint64_t bytes = (uint64_t)llabs(change->bytes);

    if (change->bytes > 0) {
        bytes = bytes < reach->grown ? bytes : reach->grown;
        reach->grown -= bytes;
        return (int64_t)bytes;
    }
    if (!is_own_release(engine, reach, bytes, now))
        return 0;
    reach->released -= bytes < reach->released ? bytes : reach->released;
    return change->bytes;
}

/* The thread takes this part of a change. What had not been taken before was the other threads'. */
static int64_t take_part(struct clp_thread *thread, struct clp_rss_change *change, int64_t part)
{
    int64_t *others = change->bytes > 0 ? &thread->others_grown : &thread->others_released;
    int64_t left = change->bytes - change->idle;
    int64_t taken = llabs(part) < llabs(left) ? part : left;

    *others -= llabs(taken);
    thread->engine->others -= taken;
    if (thread->top == thread->stack) {
        change->idle += taken;
        return 0;
    }
    change->bytes -= part;
    change->idle -= part - taken;
    return part;
}

/* Takes what is open and within the thread's reach, the oldest first: fewest others can claim it. */
static int64_t take_open(struct clp_thread *thread, struct clp_reach reach, uint64_t before)
{
    struct clp_engine *engine = thread->engine;
    size_t kept = 0;
    int64_t sum = 0;

    for (size_t i = 0; i < engine->open_count; i++) {
        struct clp_rss_change change = engine->open[i];
        if (change.number > thread->changes)
            sum += take_part(thread, &change,
                             part_within(engine, &change, &reach, change.number > before));
        if (change.bytes != 0)
            engine->open[kept++] = change;
    }
    engine->open_count = kept;
    return sum;
}

void clp_engine_share_rss(struct clp_thread *thread, int64_t rss, struct clp_reach reach)
{
    struct clp_engine *engine = thread->engine;
    uint64_t before = engine->changes;

    if (rss != engine->rss)
        leave_open(thread, rss - engine->rss);
    take_rss(thread, rss, take_open(thread, reach, before));
}

/* Counts the interval since the last event as self time of the line on top. */
static inline void end_interval(struct clp_thread *thread, uint64_t at)
{
    struct clp_cell *cell = thread->top->cell;
    uint64_t ticks = at - thread->last;

    cell->self += ticks;
    if (CLP_UNLIKELY(cell->open != 0))
        cell->nested -= (int64_t)ticks;
    thread->last = at;
    if (CLP_LIKELY(thread->rss == thread->last_rss))
        return;
    if (on_line(thread))
        rss_cell(thread->top)->self_increment += thread->rss - thread->last_rss;
    thread->last_rss = thread->rss;
}

/* The stay on top ends; what an outer execution of the line will bring does not count. */
static INLINE void end_stay(struct clp_thread *thread)
{
    struct clp_activation *top = thread->top;
    struct clp_cell *cell = top->cell;

    clp_engine_make_special(thread);
    if (thread->usage > cell->usage)
        cell->usage = thread->usage;
    if (cell->open != 0) {
        cell->nested_correction -= (int64_t)own_cost(thread);
        return;
    }
    uint64_t ticks = thread->last - top->start;
    uint64_t correction = (thread->correction - top->start_correction) / CLP_CORRECTION_ONE;
    top->carried += ticks > correction ? ticks - correction : 0;
    if ((int64_t)top->carried > cell->max)
        cell->max = (int64_t)top->carried;
    if (thread->rss != top->start_rss)
        note_rss_change(rss_cell(top), thread->rss - top->start_rss);
}

static inline void begin_line(struct clp_thread *thread, struct clp_cell *cell)
{
    struct clp_activation *top = thread->top;

    thread->correction += thread->line_cost;
    cell->hits++;
    top->cell = cell;
    top->special = false;
    top->continued = false;
    top->carried = 0;
}

/* The first line takes what has passed, and grown, since the body was entered. */
static inline void begin_first_line(struct clp_thread *thread, struct clp_cell *cell)
{
    struct clp_activation *top = thread->top;
    bool special = top->special;

    begin_line(thread, cell);
    cell->self_correction += top->entry_cost;
    if (CLP_UNLIKELY(cell->open != 0))
        cell->nested_correction -= (int64_t)top->entry_cost;
    if (CLP_UNLIKELY(special))
        clp_engine_make_special(thread);
}

void clp_engine_line_special(struct clp_thread *thread, size_t place, uint64_t at)
{
    struct clp_cell *cell = clp_block_cell(thread->top->block, place);

    if (!on_line(thread)) {
        begin_first_line(thread, cell);
        return;
    }
    clp_engine_make_special(thread);
    end_interval(thread, at);
    end_stay(thread);
    begin_line(thread, cell);
}

/* ---- the stack ---- */

bool clp_engine_reserve(struct clp_thread *thread, size_t room)
{
    size_t depth = (size_t)(thread->top - thread->stack);
    struct clp_activation *old = thread->stack, *stack;

    if (room <= thread->stack_room)
        return true;
    stack = new_stack(thread->engine, room);
    if (stack == NULL)
        return false;
    memcpy(stack, old, thread->stack_room * sizeof *stack);
    thread->stack_room = room;
    thread->stack = stack;
    thread->top = stack + depth;
    thread->last_room = stack + thread->stack_room - 1;
    free_stack(thread->engine, old);
    return true;
}

static INLINE struct clp_activation *push(struct clp_thread *thread, struct clp_block *block,
                                          const void *frame)
{
    struct clp_activation *top;

    if (CLP_UNLIKELY(thread->top == thread->last_room) &&
        !clp_engine_reserve(thread, thread->stack_room * 2)) {
        lose(thread);
        return NULL;
    }
    thread->top->cell->open++;
    top = ++thread->top;
    top->frame = frame;
    top->block = block;
    top->cell = &thread->outside;
    top->special = top->off_line = top->continued = false;
    top->code = 0;
    top->carried = 0;
    top->suspended = NULL;
    top->entered = thread->last;
    block->running++;
    return top;
}

/* Ends the interval on top, starts one for a body of the function above it. NULL: not recorded. */
static INLINE struct clp_activation *go_in(struct clp_thread *thread, uint32_t function,
                                           const void *frame, uint64_t now, struct clp_cost cost)
{
    struct clp_block *block;
    struct clp_activation *top;

    if (CLP_UNLIKELY(thread->broken))
        return NULL;
    block = CLP_LIKELY(clp_engine_has_block(thread, function)) ? thread->blocks[function]
                                                              : block_for(thread, function);
    if (CLP_UNLIKELY(block == NULL)) {
        lose(thread);
        return NULL;
    }
    clp_engine_make_special(thread);
    end_interval(thread, now - thread->stopped);
    clp_engine_add_cost(thread, cost.before);
    top = push(thread, block, frame);
    if (CLP_UNLIKELY(top == NULL))
        return NULL;
    top->entered_correction = thread->correction;
    top->entry_cost = cost.after; /* its line is not known yet */
    thread->correction += cost.after;
    return top;
}

static inline bool is_plain(const struct clp_thread *thread)
{
    return !thread->top->special && thread->top->cell->open == 0;
}

/* Ends the interval and the stay of the body on top; top->carried is how long it has taken. */
static INLINE void end_body(struct clp_thread *thread, uint64_t at, uint64_t cost,
                            int64_t plain_cost_ticks)
{
    struct clp_cell *cell = thread->top->cell;

    if (CLP_UNLIKELY(!is_plain(thread))) {
        clp_engine_make_special(thread);
        end_interval(thread, at);
        clp_engine_add_cost(thread, cost);
        if (on_line(thread))
            end_stay(thread);
        return;
    }
    int64_t ticks = (int64_t)(at - thread->last);
    cell->self += (uint64_t)ticks;
    cell->self_correction += cost;
    thread->correction += cost;
    thread->last = at;
    ticks -= plain_cost_ticks;
    if (ticks > cell->max)
        cell->max = ticks;
    if (thread->usage > cell->usage)
        cell->usage = thread->usage;
    thread->top->carried = ticks > 0 ? (uint64_t)ticks : 0;
}

/* Takes the body on top, which has ended, off the stack. */
static INLINE void go_out(struct clp_thread *thread, uint64_t cost)
{
    const struct clp_activation *left = thread->top--;

    clp_engine_bring(thread, left, thread->correction);
    clp_engine_add_cost(thread, cost);
}

/* ---- suspended bodies ---- */

static uint64_t key_of(const void *frame)
{
    return (uint64_t)(uintptr_t)frame;
}

static void free_suspended(struct clp_engine *engine, struct clp_suspended *record)
{
    record->frame = NULL;
    record->next_free = engine->free_suspended;
    engine->free_suspended = record;
}

static void forget_suspended(struct clp_engine *engine, const void *frame)
{
    uint64_t found;

    if (clp_hashmap_take(&engine->suspended, key_of(frame), &found))
        free_suspended(engine, (struct clp_suspended *)(uintptr_t)found);
}

static struct clp_suspended *new_suspended(struct clp_engine *engine, const void *frame)
{
    struct clp_suspended *record;

    forget_suspended(engine, frame); /* of a body gone unnoticed that had this address */
    record = engine->free_suspended;
    if (record != NULL)
        engine->free_suspended = record->next_free;
    else
        record = clp_mem_alloc(engine->mem, 1, sizeof *record);
    if (record == NULL)
        return NULL;
    if (clp_hashmap_set(&engine->suspended, key_of(frame), (uint64_t)(uintptr_t)record) != CLP_OK) {
        free_suspended(engine, record);
        return NULL;
    }
    record->frame = frame;
    return record;
}

/* ---- events ---- */

/* A body that begins or resumes is not running yet: if it is on top, its exit was not told. */
static void drop_stale(struct clp_thread *thread, const void *frame, uint64_t now)
{
    if (CLP_UNLIKELY(thread->top->frame == frame && frame != NULL))
        clp_engine_leave(thread, now);
}

static inline struct clp_activation *enter(struct clp_thread *thread, uint32_t function,
                                           const void *frame, uint64_t now)
{
    struct clp_engine *engine = thread->engine;

    /* a generator that was collected while suspended told nobody; its frame's address is used anew */
    if (frame != NULL && engine->suspended.count != 0 &&
        engine->functions.items[function].generator)
        forget_suspended(engine, frame);
    drop_stale(thread, frame, now);
    return go_in(thread, function, frame, now, engine->costs.enter);
}

struct clp_activation *clp_engine_enter(struct clp_thread *thread, uint32_t function,
                                        const void *frame, uint64_t now)
{
    return enter(thread, function, frame, now);
}

struct clp_activation *clp_engine_enter_line(struct clp_thread *thread, uint32_t function,
                                             const void *frame, int32_t line, uint64_t now)
{
    struct clp_activation *top = enter(thread, function, frame, now);

    if (CLP_LIKELY(top != NULL)) {
        uint32_t index = (uint32_t)line - (uint32_t)top->block->lowest_line;
        if (CLP_LIKELY(index < top->block->line_count))
            begin_first_line(thread, &top->block->cells[index]);
    }
    return top;
}

static void leave(struct clp_thread *thread, uint64_t now, struct clp_cost cost,
                  int64_t plain_cost_ticks)
{
    struct clp_activation *top = thread->top;

    if (CLP_UNLIKELY(top == thread->stack))
        return;
    if (CLP_UNLIKELY(top->suspended != NULL))
        forget_suspended(thread->engine, top->frame);
    end_body(thread, now - thread->stopped, cost.before, plain_cost_ticks);
    go_out(thread, cost.after);
}

void clp_engine_leave(struct clp_thread *thread, uint64_t now)
{
    leave(thread, now, thread->leave, thread->leave_ticks);
}

void clp_engine_last_line(struct clp_thread *thread, int32_t line, uint64_t now)
{
    clp_engine_line(thread, line, now);
    leave(thread, now, (struct clp_cost){.after = thread->last_line}, thread->line_ticks);
}

static INLINE void note_place(struct clp_suspended *record, const struct clp_thread *thread,
                              const struct clp_activation *popped, uint64_t now)
{
    record->function = popped->block->function;
    record->on_line = popped->cell != &thread->outside;
    record->line = record->on_line ? (uint32_t)(popped->cell - popped->block->cells) : 0;
    record->carried = popped->carried;
    record->since = now;
}

void clp_engine_suspend(struct clp_thread *thread, uint64_t now)
{
    struct clp_activation *top = thread->top;
    const struct clp_cost cost = thread->engine->costs.suspend;
    struct clp_suspended *record = top->suspended;

    if (CLP_UNLIKELY(top == thread->stack))
        return;
    if (record == NULL && (record = new_suspended(thread->engine, top->frame)) == NULL)
        lose(thread);
    end_body(thread, now - thread->stopped, cost.before, thread->suspend_ticks);
    go_out(thread, cost.after);
    if (record == NULL)
        return;
    /* the popped activation is still there to be read: nothing has been pushed since */
    note_place(record, thread, top, now);
}

/* The record of a body of this function, or NULL. Most of the time it is the one that was asked for
 * last: records are never given back to the system, so a stale one shows by its frame. */
static INLINE struct clp_suspended *find_suspended(struct clp_thread *thread, uint32_t function,
                                            const void *frame)
{
    struct clp_block *block =
        clp_engine_has_block(thread, function) ? thread->blocks[function] : NULL;
    struct clp_suspended *record = block != NULL ? block->latest : NULL;
    uint64_t found;

    if (record != NULL && record->frame == frame && record->function == function)
        return record;
    if (!clp_hashmap_get(&thread->engine->suspended, key_of(frame), &found))
        return NULL;
    record = (struct clp_suspended *)(uintptr_t)found;
    if (record->function != function)
        return NULL;
    if (block != NULL)
        block->latest = record;
    return record;
}

/* The body on top goes on at the line at which it was suspended. */
static INLINE void stand_at(struct clp_thread *thread, const struct clp_suspended *record,
                            uint64_t cost)
{
    struct clp_activation *top = thread->top;

    thread->correction -= cost; /* go_in gave it to nobody */
    top->cell = &top->block->cells[record->line];
    top->carried = record->carried;
    top->continued = true;
    clp_engine_make_special(thread);
    clp_engine_add_cost(thread, cost);
}

static INLINE void take_up(struct clp_thread *thread, struct clp_suspended *record, uint64_t now,
                    uint64_t cost)
{
    thread->top->suspended = record;
    if (!record->on_line)
        return;
    stand_at(thread, record, cost);
    if (thread->engine->functions.items[record->function].awaits)
        thread->top->cell->await += now - record->since;
}

/* Goes in where the body was suspended, or at no line when there is no record of that. */
static INLINE struct clp_activation *go_on(struct clp_thread *thread, uint32_t function,
                                    const void *frame, uint64_t now, struct clp_cost cost)
{
    struct clp_suspended *record = find_suspended(thread, function, frame);

    if (record == NULL)
        forget_suspended(thread->engine, frame); /* of another function: long gone */
    if (go_in(thread, function, frame, now, cost) == NULL)
        return NULL;
    if (record != NULL)
        take_up(thread, record, now, cost.after);
    return thread->top;
}

struct clp_activation *clp_engine_resume(struct clp_thread *thread, uint32_t function,
                                         const void *frame, uint64_t now)
{
    drop_stale(thread, frame, now);
    return go_on(thread, function, frame, now, thread->engine->costs.resume);
}

bool clp_engine_is_running(const struct clp_thread *thread, const void *frame)
{
    const struct clp_activation *at = thread->top;

    while (at != thread->stack && at->frame != frame)
        at--;
    return at != thread->stack;
}

struct clp_activation *clp_engine_align(struct clp_thread *thread, uint32_t function,
                                        const void *frame, uint64_t now)
{
    struct clp_activation *at = thread->top;

    while (at != thread->stack && (at->frame != frame || at->block->function != function))
        at--;
    if (at == thread->stack) {
        /* running since before it was selected, or resumed untold; late, so nothing to take off */
        return go_on(thread, function, frame, now, (struct clp_cost){0});
    }
    while (thread->top != at)
        clp_engine_leave(thread, now);
    return at;
}

void clp_engine_unwind(struct clp_thread *thread, uint64_t now)
{
    while (thread->top != thread->stack)
        clp_engine_leave(thread, now);
}

bool clp_engine_runs(const struct clp_engine *engine, uint32_t function)
{
    for (const struct clp_thread *thread = engine->threads; thread != NULL; thread = thread->next) {
        if (clp_engine_has_block(thread, function) && thread->blocks[function]->running != 0)
            return true;
    }
    return clp_engine_is_parked(engine, function);
}

/* ---- several stacks in a thread ---- */

static size_t parked_bytes(size_t count)
{
    return sizeof(struct clp_parked) + count * sizeof(struct parked_body);
}

static void free_parked(struct clp_engine *engine, struct clp_parked *parked)
{
    clp_mem_free(engine->mem, parked, 1, parked_bytes(parked->count));
}

/* The caller owns it; NULL when there is none. */
static struct clp_parked *take_parked(struct clp_engine *engine, const void *owner)
{
    uint64_t found;

    return clp_hashmap_take(&engine->parked, key_of(owner), &found)
               ? (struct clp_parked *)(uintptr_t)found
               : NULL;
}

void clp_engine_forget_stack(struct clp_engine *engine, const void *owner)
{
    struct clp_parked *parked = take_parked(engine, owner);

    if (parked != NULL)
        free_parked(engine, parked);
}

static struct clp_parked *new_parked(struct clp_engine *engine, const void *owner, size_t count)
{
    struct clp_parked *parked = clp_mem_alloc(engine->mem, 1, parked_bytes(count));

    if (parked == NULL)
        return NULL;
    parked->count = count;
    clp_engine_forget_stack(engine, owner);
    if (clp_hashmap_set(&engine->parked, key_of(owner), (uint64_t)(uintptr_t)parked) == CLP_OK)
        return parked;
    free_parked(engine, parked);
    return NULL;
}

static void note_body(struct parked_body *body, const struct clp_thread *thread,
                      const struct clp_activation *popped, uint64_t now)
{
    body->place.frame = popped->frame;
    note_place(&body->place, thread, popped, now);
    body->code = popped->code;
    body->off_line = popped->off_line;
}

/* Every body leaves the stack as if it were suspended; so what they have counted is complete. */
static void park(struct clp_thread *thread, const void *owner, uint64_t now)
{
    size_t count = (size_t)(thread->top - thread->stack);
    struct clp_parked *parked = count != 0 ? new_parked(thread->engine, owner, count) : NULL;

    if (parked == NULL && count != 0)
        lose(thread);
    while (thread->top != thread->stack) {
        if (thread->top->suspended != NULL) /* it gets another one when it suspends again */
            forget_suspended(thread->engine, thread->top->frame);
        end_body(thread, now - thread->stopped, 0, thread->line_ticks);
        go_out(thread, 0);
        if (parked != NULL)
            note_body(&parked->bodies[--count], thread, thread->top + 1, now);
    }
    end_interval(thread, now - thread->stopped);
}

/* Each goes on at its line. A line that several of them stand at has waited once. */
static void unpark(struct clp_thread *thread, const struct clp_parked *parked, uint64_t now)
{
    for (size_t i = 0; i < parked->count; i++) {
        const struct parked_body *body = &parked->bodies[i];
        struct clp_activation *top = go_in(thread, body->place.function, body->place.frame, now,
                                           (struct clp_cost){0});
        if (top == NULL)
            return;
        top->code = body->code;
        top->off_line = body->off_line;
        if (!body->place.on_line)
            continue;
        stand_at(thread, &body->place, 0);
        if (top->cell->open == 0)
            top->cell->await += now - body->place.since;
    }
}

void clp_engine_switch_stack(struct clp_thread *thread, const void *from, const void *to,
                             uint64_t now)
{
    struct clp_parked *parked = take_parked(thread->engine, to);

    park(thread, from, now);
    if (parked != NULL) {
        unpark(thread, parked, now);
        free_parked(thread->engine, parked);
    }
    if (thread->top != thread->last_room)
        thread->top[1].frame = NULL; /* it did not leave this stack last */
}

void clp_engine_forget_stacks(struct clp_engine *engine)
{
    for (size_t i = 0; i < engine->parked.room; i++)
        if (engine->parked.slots[i].used)
            free_parked(engine, (struct clp_parked *)(uintptr_t)engine->parked.slots[i].value);
    clp_hashmap_clear(&engine->parked);
    clp_hashmap_init(&engine->parked, engine->mem);
}

static bool holds(const struct clp_parked *parked, uint32_t function)
{
    for (size_t i = 0; i < parked->count; i++)
        if (parked->bodies[i].place.function == function)
            return true;
    return false;
}

bool clp_engine_is_parked(const struct clp_engine *engine, uint32_t function)
{
    for (size_t i = 0; i < engine->parked.room; i++)
        if (engine->parked.slots[i].used &&
            holds((const struct clp_parked *)(uintptr_t)engine->parked.slots[i].value, function))
            return true;
    return false;
}

static void add_totals(struct clp_engine_totals *totals, const struct clp_thread *thread)
{
    totals->correction += thread->correction;
    totals->stopped += thread->stopped;
    totals->reads += thread->reads;
    totals->others_grown += thread->others_grown;
    totals->others_released += thread->others_released;
}

void clp_engine_sum(const struct clp_engine *engine, struct clp_engine_totals *totals)
{
    *totals = (struct clp_engine_totals){0};
    for (const struct clp_thread *thread = engine->threads; thread != NULL; thread = thread->next)
        add_totals(totals, thread);
    for (const struct clp_thread *ended = engine->ended; ended != NULL; ended = ended->next)
        add_totals(totals, ended);
}

/* ---- memory that is read later than from the start ---- */

static void move_activations(struct clp_thread *thread, const struct clp_block *from,
                             struct clp_block *into)
{
    for (struct clp_activation *at = thread->stack + 1; at <= thread->top; at++) {
        if (at->block != from)
            continue;
        if (at->cell != &thread->outside)
            at->cell = into->cells + (at->cell - from->cells);
        at->block = into;
    }
}

static bool add_rss_to(struct clp_thread *thread)
{
    struct clp_pool *pool = &thread->engine->pool;

    for (uint32_t i = 0; i < thread->block_room; i++) {
        struct clp_block *old = thread->blocks[i], *block;
        if (old == NULL || old->rss != NULL)
            continue;
        block = clp_block_new(pool, &thread->engine->functions.items[i], i, true);
        if (block == NULL)
            return false;
        memcpy(block->cells, old->cells, old->line_count * sizeof *old->cells);
        block->running = old->running;
        block->total = old->total;
        block->total_correction = old->total_correction;
        block->latest = old->latest;
        move_activations(thread, old, block);
        thread->blocks[i] = block;
        clp_block_free(pool, old);
    }
    return true;
}

bool clp_engine_add_rss(struct clp_engine *engine)
{
    bool done = true;

    for (struct clp_thread *ended = engine->ended; ended != NULL && done; ended = ended->next)
        done = add_rss_to(ended);
    for (struct clp_thread *thread = engine->threads; thread != NULL && done; thread = thread->next)
        done = add_rss_to(thread);
    engine->with_rss |= done;
    return done;
}

void clp_engine_take_up_rss(struct clp_engine *engine, int64_t rss, uint64_t span)
{
    clp_engine_set_rss_span(engine, span);
    engine->rss = rss;
    engine->knows_rss = true;
    engine->open_count = 0;
    for (struct clp_thread *thread = engine->threads; thread != NULL; thread = thread->next)
        thread->changes = engine->changes;
}

/* ---- end ---- */

static void free_threads(struct clp_thread **list)
{
    struct clp_thread *next;

    for (struct clp_thread *thread = *list; thread != NULL; thread = next) {
        next = thread->next;
        free_thread(thread);
    }
    *list = NULL;
}

void clp_engine_clear_threads(struct clp_engine *engine)
{
    free_threads(&engine->threads);
    free_threads(&engine->ended);
}

static void clear_suspended(struct clp_engine *engine)
{
    for (size_t i = 0; i < engine->suspended.room; i++) {
        if (engine->suspended.slots[i].used)
            free_suspended(engine,
                           (struct clp_suspended *)(uintptr_t)engine->suspended.slots[i].value);
    }
    clp_hashmap_clear(&engine->suspended);
    clp_hashmap_init(&engine->suspended, engine->mem);
    while (engine->free_suspended != NULL) {
        struct clp_suspended *record = engine->free_suspended;
        engine->free_suspended = record->next_free;
        clp_mem_free(engine->mem, record, 1, sizeof *record);
    }
}

void clp_engine_clear(struct clp_engine *engine)
{
    clp_engine_clear_threads(engine);
    clear_suspended(engine);
    clp_engine_forget_stacks(engine);
    clp_groups_clear(&engine->groups);
    clp_functions_clear(&engine->functions);
    clp_pool_clear(&engine->pool);
}
