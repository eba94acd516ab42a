/* SPDX-License-Identifier: MIT */
#include "tensors.h"
#include "devices.h"
#include <string.h>

static void add(uint64_t *sum, int64_t value)
{
    (void)__atomic_fetch_add(sum, (uint64_t)value, __ATOMIC_RELAXED);
}

/* The counters of a line; without a line (NULL), those of the engine as a whole, or NULL if it has none. */
static struct clp_tensor_cell *cell_for(const struct clp_engine *engine, struct clp_device_cell *line, int place)
{
    struct clp_tensors_outside *outside = __atomic_load_n(&engine->tensors, __ATOMIC_ACQUIRE);

    if (line != NULL)
        return &line->tensors[place];
    return outside != NULL ? &outside->cells[place] : NULL;
}

/* Counts in the cell of a line; NULL: no line did it. Threads that work for a line may count there at the same time. */
static void count(const struct clp_engine *engine, struct clp_device_cell *line, const struct clp_tensor_change *change)
{
    struct clp_tensor_cell *cell = cell_for(engine, line, change->place);

    if (cell == NULL)
        return;
    if (change->bytes > 0)
        add(&cell->allocated, change->bytes);
    else
        add(&cell->freed, -change->bytes);
    if (change->reserved != 0)
        (void)__atomic_fetch_add(&cell->reserved, change->reserved, __ATOMIC_RELAXED);
}

static void raise_to(uint64_t *most, int64_t value)
{
    uint64_t known = __atomic_load_n(most, __ATOMIC_RELAXED);

    while (value > 0 && (uint64_t)value > known &&
           !__atomic_compare_exchange_n(most, &known, (uint64_t)value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

/* When the execution of the activation's line began. The one on top of a stack may not have noted it yet. */
static uint64_t began(const struct clp_thread *thread, const struct clp_activation *at)
{
    return at->special ? at->start : thread->last;
}

/* The mark of the line that the activation executes. `balance` is what its thread has had so far; without it no mark is
 * set, and NULL says that there is none. */
static const struct clp_tensor_mark *mark_of(struct clp_thread *thread, const struct clp_activation *at,
                                             const int64_t *balance)
{
    struct clp_tensor_mark *mark = &thread->tensors.marks[(size_t)(at - thread->stack) % CLP_TENSOR_MARKS];
    uint64_t start = began(thread, at);

    if (mark->cell == at->cell && mark->start == start)
        return mark;
    if (balance == NULL)
        return NULL;
    mark->cell = at->cell;
    mark->start = start;
    memcpy(mark->balance, balance, sizeof mark->balance);
    return mark;
}

/* Raises the peaks of the lines on the stack of the calling thread, which has, or has had, `now` at the place.
 * `balance` is as in mark_of; lines without a mark keep their peaks. */
static void raise_marked(struct clp_thread *thread, int place, int64_t now, const int64_t *balance)
{
    const struct clp_activation *at = clp_engine_top(thread);

    for (size_t i = 0; i < CLP_TENSOR_MARKS && at > thread->stack; i++, at--) {
        if (at->cell == &thread->outside || at->block->devices == NULL)
            continue;
        const struct clp_tensor_mark *mark = mark_of(thread, at, balance);
        if (mark != NULL)
            raise_to(&at->block->devices[clp_engine_line_index(at)].tensors[place].peak, now - mark->balance[place]);
    }
}

/* Raises the peaks of all lines on the stack of the calling thread. At the place the thread had `before`, and has, or has
 * had since, `now`. */
static void raise_peaks(struct clp_thread *thread, int place, int64_t before, int64_t now)
{
    int64_t balance[CLP_DEVICES];

    for (size_t i = 0; i < CLP_DEVICES; i++)
        balance[i] = __atomic_load_n(&thread->tensors.balance[i], __ATOMIC_RELAXED);
    balance[place] = before;
    raise_marked(thread, place, now, balance);
}

static int64_t change_balance(struct clp_thread *thread, const struct clp_tensor_change *change)
{
    return __atomic_fetch_add(&thread->tensors.balance[change->place], change->bytes, __ATOMIC_RELAXED);
}

void clp_tensors_note(struct clp_engine *engine, struct clp_thread *thread, const struct clp_tensor_change *change)
{
    count(engine, thread != NULL ? clp_devices_of_top(thread) : NULL, change);
    if (thread == NULL)
        return;
    int64_t before = change_balance(thread, change);
    raise_peaks(thread, change->place, before, before + change->bytes);
}

bool clp_tensors_have_line(const struct clp_thread *thread)
{
    return clp_devices_of_top(thread) != NULL;
}

struct clp_device_cell *clp_tensors_send(struct clp_thread *thread)
{
    for (int i = 0; i < CLP_DEVICES; i++) {
        int64_t now = __atomic_load_n(&thread->tensors.balance[i], __ATOMIC_RELAXED);
        raise_peaks(thread, i, now, now); /* sets the marks */
        __atomic_store_n(&thread->tensors.base[i], now, __ATOMIC_RELAXED);
        __atomic_store_n(&thread->tensors.high[i], 0, __ATOMIC_RELAXED);
    }
    return __atomic_exchange_n(&thread->tensors.sent, clp_devices_of_top(thread), __ATOMIC_RELAXED);
}

void clp_tensors_note_for(struct clp_engine *engine, struct clp_thread *owner, const struct clp_tensor_change *change)
{
    count(engine, __atomic_load_n(&owner->tensors.sent, __ATOMIC_RELAXED), change);
    int64_t now = change_balance(owner, change) + change->bytes;
    raise_to(&owner->tensors.high[change->place],
             now - __atomic_load_n(&owner->tensors.base[change->place], __ATOMIC_RELAXED));
}

void clp_tensors_take_back(struct clp_thread *owner, struct clp_device_cell *before)
{
    for (int i = 0; i < CLP_DEVICES; i++) {
        int64_t high = (int64_t)__atomic_load_n(&owner->tensors.high[i], __ATOMIC_RELAXED);
        if (high != 0)
            raise_peaks(owner, i, __atomic_load_n(&owner->tensors.balance[i], __ATOMIC_RELAXED),
                        owner->tensors.base[i] + high);
    }
    if (before != NULL) /* what is freed a moment later is still of the line that sent last */
        __atomic_store_n(&owner->tensors.sent, before, __ATOMIC_RELAXED);
}

/* ---- numbers that are read from time to time ---- */

void clp_tensors_expect(struct clp_thread *thread, struct clp_tensor_place *place)
{
    int64_t now = thread != NULL ? __atomic_load_n(&thread->tensors.balance[0], __ATOMIC_RELAXED) : 0;

    place->on_line = thread != NULL && clp_devices_of_top(thread) != NULL && clp_devices_place_of(thread, &place->line);
    if (thread != NULL)
        raise_peaks(thread, 0, now, now); /* sets the marks */
    if (place->on_line)
        memcpy(place->balance, mark_of(thread, thread->top, NULL)->balance, sizeof place->balance);
}

/* The cell of the place's line in the thread, which may have other blocks by now; NULL: there is none. */
static struct clp_device_cell *line_of(const struct clp_thread *thread, const struct clp_tensor_place *place)
{
    struct clp_block *block = NULL;

    if (place->on_line && place->line.function < thread->block_room)
        block = thread->blocks[place->line.function];
    return block != NULL && block->devices != NULL && place->line.line < block->line_count
               ? &block->devices[place->line.line] : NULL;
}

void clp_tensors_note_sum(struct clp_engine *engine, struct clp_thread *thread, const struct clp_tensor_place *place,
                          const struct clp_tensor_sum *sum)
{
    struct clp_device_cell *line = thread != NULL ? line_of(thread, place) : NULL;
    struct clp_tensor_cell *cell = cell_for(engine, line, sum->place);

    if (cell != NULL) {
        add(&cell->allocated, sum->allocated);
        add(&cell->freed, sum->freed);
        (void)__atomic_fetch_add(&cell->reserved, sum->reserved, __ATOMIC_RELAXED);
    }
    if (thread == NULL)
        return;
    const struct clp_tensor_change change = {sum->place, sum->allocated - sum->freed, sum->reserved};
    int64_t most = change_balance(thread, &change) + sum->high;
    if (line != NULL)
        raise_to(&cell->peak, most - place->balance[sum->place]);
    raise_marked(thread, sum->place, most, NULL);
}
