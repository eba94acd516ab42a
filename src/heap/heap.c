/* SPDX-License-Identifier: MIT */
/* The file is long because the functions on the way of an allocation are inlined into each other. Split into four files,
 * a program that allocates much ran 8 to 13 % more instructions (callgrind, --heap=1). */
#include "heap.h"
#include "base/random.h"
#include <math.h>
#include <string.h>

/* How many calls later a block may still take the place of one that samples have missed. */
#define MISSED_CALLS 3

/* A mark is kept if one part in so many of the progress was made after it, or less. */
#define FRESH 16

/* ---- sampling ---- */

static double interval_at(const struct clp_heap *heap, uint32_t level)
{
    return (double)(clp_heap_interval(heap) >> (2 * level));
}

int64_t clp_heap_draw(struct clp_heap *heap, const struct clp_heap_countdown *countdown)
{
    uint32_t level = __atomic_load_n(&heap->level, __ATOMIC_RELAXED);

    if (__atomic_load_n(countdown->random, __ATOMIC_RELAXED) == 0) {
        uint64_t seed = __atomic_add_fetch(&heap->seeds, 1, __ATOMIC_RELAXED);
        __atomic_store_n(countdown->random, (seed * UINT64_C(0x9E3779B97F4A7C15)) | 1, __ATOMIC_RELAXED);
    }
    *countdown->level = level;
    return (int64_t)(-log(clp_random_uniform(countdown->random)) * interval_at(heap, level));
}

/* Counts a chosen block, and goes to the next level if there were enough. */
static void count_chosen(struct clp_heap *heap)
{
    uint32_t level = __atomic_load_n(&heap->level, __ATOMIC_RELAXED);

    if (level == 0 || __atomic_add_fetch(&heap->chosen, 1, __ATOMIC_RELAXED) < CLP_HEAP_LEVEL_BLOCKS)
        return;
    __atomic_store_n(&heap->chosen, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&heap->level, level - 1, __ATOMIC_RELAXED);
}

bool clp_heap_choose(struct clp_heap *heap, const struct clp_heap_countdown *countdown, size_t bytes, uint32_t *level)
{
    *level = 0;
    if (clp_heap_is_exact(heap))
        return true;
    int64_t now = __atomic_load_n(countdown->left, __ATOMIC_RELAXED);
    if (__atomic_load_n(countdown->random, __ATOMIC_RELAXED) == 0) /* the first one here */
        now = clp_heap_draw(heap, countdown) - (int64_t)bytes;
    bool chosen = now < 0;
    *level = *countdown->level;
    if (chosen)
        count_chosen(heap);
    __atomic_store_n(countdown->left, chosen ? clp_heap_draw(heap, countdown) : now, __ATOMIC_RELAXED);
    return chosen;
}

struct clp_heap_weight clp_heap_weight(const struct clp_heap *heap, uint64_t bytes, uint32_t level)
{
    if (clp_heap_is_exact(heap))
        return (struct clp_heap_weight){(int64_t)bytes, CLP_HEAP_ONE};
    double size = bytes != 0 ? (double)bytes : 1;
    double chance = -expm1(-size / interval_at(heap, level));
    return (struct clp_heap_weight){llround(size / chance), llround(CLP_HEAP_ONE / chance)};
}

/* ---- one change at a time ---- */

/* Makes this thread the only one that changes the table. False: the lock cannot be had, and nothing may be
 * changed. *locked is to be given to give_hold. */
static inline bool take_hold(struct clp_heap *heap, bool *locked)
{
    *locked = !clp_thread_alone();
    return !*locked || clp_lock_take(&heap->lock);
}

static inline void give_hold(struct clp_heap *heap, bool locked)
{
    if (locked)
        clp_lock_give(&heap->lock);
}

/* ---- lines ---- */

/* NULL: no memory. */
static struct clp_heap_function *function_of(struct clp_heap *heap, uint32_t function)
{
    if (function >= heap->function_room) {
        void *functions = heap->functions;
        size_t room = heap->function_room * 2 > function ? heap->function_room * 2
                                                         : (size_t)function + 64;
        if (clp_mem_grow(&heap->arena.mem, &functions, &heap->function_room, room,
                         sizeof *heap->functions) != CLP_OK)
            return NULL;
        heap->functions = functions;
    }
    if (heap->functions[function].clock.stride == 0)
        heap->functions[function].clock.stride = 1;
    return &heap->functions[function];
}

static bool give_number(struct clp_heap *heap, struct clp_heap_line *line)
{
    void *owners = heap->owners;

    if (heap->owner_count == CLP_HEAP_MOST_OWNERS)
        return false;
    if (heap->owner_count >= heap->owner_room) {
        if (clp_mem_grow(&heap->arena.mem, &owners, &heap->owner_room, heap->owner_room * 2 + 64,
                         sizeof *heap->owners) != CLP_OK)
            return false;
        heap->owners = owners;
    }
    line->number = (uint32_t)heap->owner_count;
    heap->owners[heap->owner_count++] = line;
    return true;
}

/* Makes the line at `place` able to own blocks, and returns it. NULL: no memory, or no number is left. */
static struct clp_heap_line *new_line(struct clp_heap *heap, const struct clp_heap_place *place)
{
    struct clp_heap_function *function = function_of(heap, place->function);

    if (function == NULL || place->line >= place->line_count)
        return NULL;
    if (function->lines == NULL) {
        function->lines =
            clp_mem_alloc(&heap->arena.mem, place->line_count, sizeof *function->lines);
        function->line_count = place->line_count;
    }
    if (function->lines == NULL)
        return NULL;
    struct clp_heap_line *line = &function->lines[place->line];
    line->function = place->function;
    if (line->trail == NULL && heap->epochs != CLP_HEAP_NO_EPOCHS)
        line->trail = clp_mem_alloc(&heap->arena.mem, 1, sizeof *line->trail);
    return give_number(heap, line) ? line : NULL;
}

/* Returns the line at `place`; NULL where it never owned a block. */
static inline struct clp_heap_line *find_line(struct clp_heap *heap,
                                              const struct clp_heap_place *place)
{
    if (place->function == CLP_HEAP_NOBODY)
        return &heap->nobody;
    if (CLP_UNLIKELY(place->function >= heap->function_room))
        return NULL;
    const struct clp_heap_function *function = &heap->functions[place->function];
    if (CLP_UNLIKELY(function->lines == NULL || place->line >= function->line_count))
        return NULL;
    struct clp_heap_line *line = &function->lines[place->line];
    return CLP_LIKELY(line->number != 0) ? line : NULL;
}

static inline struct clp_heap_line *owner_of(const struct clp_heap *heap,
                                             const struct clp_shadow_slot *slot)
{
    return heap->owners[clp_heap_slot_owner(slot)];
}

static const struct clp_heap_clock *clock_of(const struct clp_heap *heap, uint32_t function)
{
    return heap->epochs == CLP_HEAP_BY_CALLS && function != CLP_HEAP_NOBODY
               ? &heap->functions[function].clock
               : &heap->clock;
}

const struct clp_heap_clock *clp_heap_clock_of(const struct clp_heap *heap, const struct clp_heap_line *line)
{
    const struct clp_heap_clock *clock = clock_of(heap, line->function);
    const struct clp_heap_runs *runs = line->trail != NULL ? line->trail->runs : NULL;

    return runs != NULL && clock->calls < clp_leaks_needed(0) ? &runs->clock : clock;
}

/* To be called before the line's live bytes change. If there was a peak since their last change, they are
 * those at the peak, and are kept as such. */
static void note_peak(const struct clp_heap *heap, struct clp_heap_line *line)
{
    if (line->peak == heap->peak_number)
        return;
    line->at_peak = line->live;
    line->peak = heap->peak_number;
}

/* Adds a block of this size to the line's live bytes and blocks; subtracts it if `sign` is -1. Returns what
 * the block stands for. */
static inline struct clp_heap_weight add_bytes(struct clp_heap *heap, struct clp_heap_line *line,
                                               uint64_t bytes, uint32_t level, int sign)
{
    struct clp_heap_weight weight = {(int64_t)bytes, CLP_HEAP_ONE};

    if (CLP_UNLIKELY(!clp_heap_is_exact(heap)))
        weight = clp_heap_weight(heap, bytes, level);
    note_peak(heap, line);
    line->live += sign * weight.bytes;
    line->blocks += sign * weight.blocks;
    heap->live += sign * weight.bytes;
    if (CLP_UNLIKELY(heap->live > heap->peak)) {
        heap->peak = heap->live;
        heap->peak_number++;
    }
    return weight;
}

/* Is the execution that runs at `place` the one that allocated the block? */
static inline bool same_execution(struct clp_heap *heap, const struct clp_shadow_slot *slot,
                                  const struct clp_heap_place *place)
{
    return CLP_UNLIKELY(slot->execution == (place->execution & CLP_HEAP_EXECUTION)) &&
           place->function != CLP_HEAP_NOBODY && find_line(heap, place) == owner_of(heap, slot);
}

/* ---- epochs of a line of its own ---- */

static void join_clock(struct clp_heap_clock *clock)
{
    for (size_t i = 1; i <= clock->epochs / 2; i++)
        clock->at[i] = clock->at[2 * i];
    clock->epochs /= 2;
    clock->stride *= 2;
}

static void halve_born(void *data, struct clp_shadow_slot *slot)
{
    (void)data;
    slot->born /= 2;
}

static void shift_born(struct clp_heap *heap)
{
    heap->born_shift++;
    clp_shadow_walk(&heap->shadow, halve_born, NULL);
}

/* Begins so many calls or ticks, of which all but the last are over. */
static void begin_calls(struct clp_heap *heap, struct clp_heap_clock *clock, uint32_t count)
{
    if (clock->calls == 0)
        clock->at[0] = heap->progress + 1;
    clock->calls += count;
    heap->progress += count;
    clock->began = heap->progress;
    while (CLP_UNLIKELY(heap->progress >> heap->born_shift > UINT32_MAX))
        shift_born(heap);
}

static void end_run(struct clp_heap *heap, struct clp_heap_runs *runs, int64_t live)
{
    struct clp_heap_clock *clock = &runs->clock;

    if (clock->epochs == CLP_LEAKS_MOST_EPOCHS) {
        for (size_t i = 1; i <= clock->epochs / 2; i++)
            runs->live[i] = runs->live[2 * i];
        join_clock(clock);
    }
    if (clock->calls != (clock->epochs + 1) * clock->stride)
        return;
    runs->live[++clock->epochs] = live;
    clock->at[clock->epochs] = heap->progress;
}

/* To be called before the line gets a block, or gets a resized one back, of which `taken` bytes do not count as alive
 * at the moment. If the line's function was called seldom, and this is another execution of the line than before, an
 * epoch of the line ends. */
static void note_run(struct clp_heap *heap, const struct clp_heap_line *line, uint32_t execution, int64_t taken)
{
    struct clp_heap_trail *trail = line->trail;

    if (heap->epochs != CLP_HEAP_BY_CALLS || line->function == CLP_HEAP_NOBODY || trail == NULL ||
        clock_of(heap, line->function)->calls >= clp_leaks_needed(0))
        return;
    if (trail->runs == NULL) {
        trail->runs = clp_mem_alloc(&heap->arena.mem, 1, sizeof *trail->runs);
        if (trail->runs == NULL)
            return;
        trail->runs->clock.stride = 1;
        trail->runs->first = execution;
        trail->runs->live[0] = line->live + taken;
    } else if (trail->runs->last == execution) {
        return;
    }
    end_run(heap, trail->runs, line->live + taken);
    trail->runs->last = execution;
    begin_calls(heap, &trail->runs->clock, 1);
}

/* ---- events ---- */

/* Returns the slot for a new block; NULL: it cannot be in the table. If the address is in the table already,
 * its old block was freed without passing the hooks, and is subtracted from its line. */
static inline struct clp_shadow_slot *make_room(struct clp_heap *heap, const void *address,
                                                size_t bytes)
{
    if (CLP_UNLIKELY(bytes >= CLP_HEAP_MOST_BYTES))
        return NULL;
    struct clp_shadow_slot *slot = clp_shadow_add(&heap->shadow, address);
    if (slot != NULL && CLP_UNLIKELY(slot->owned != 0))
        add_bytes(heap, owner_of(heap, slot), clp_heap_slot_bytes(slot), slot->level, -1);
    return slot;
}

/* ---- things that grow ---- */

/* Has the block been there since an earlier call? */
static bool is_lasting(struct clp_heap *heap, const struct clp_heap_line *line,
                       const struct clp_shadow_slot *slot)
{
    return slot->stretched || !clp_heap_born_since(heap, slot, clp_heap_clock_of(heap, line)->began);
}

/* Returns the slot of the line's newest block, if it was allocated in this call and is at least as large as
 * the freed block. It then takes the freed block's place. NULL: no block takes it. */
static struct clp_shadow_slot *find_heir(struct clp_heap *heap, const struct clp_heap_line *line,
                                         const struct clp_heap_block *freed)
{
    const void *newest = line->trail->newest;

    if (newest == NULL || newest == freed->address)
        return NULL;
    struct clp_shadow_slot *slot = clp_shadow_find(&heap->shadow, newest);
    return slot != NULL && owner_of(heap, slot) == line &&
                   clp_heap_born_since(heap, slot, clp_heap_clock_of(heap, line)->began) &&
                   clp_heap_slot_bytes(slot) >= clp_heap_slot_bytes(&freed->slot)
               ? slot
               : NULL;
}

/* Counts the growth or shrinking when the block in `slot` takes the place of the `old` one of the same
 * line. */
static void note_change(struct clp_heap *heap, const struct clp_heap_line *line,
                        const struct clp_shadow_slot *old, struct clp_shadow_slot *slot)
{
    uint64_t before = clp_heap_slot_bytes(old), after = clp_heap_slot_bytes(slot);

    if (!is_lasting(heap, line, old))
        return;
    slot->stretched = old->stretched || after > before;
    if (after >= before)
        line->trail->stretched += (int64_t)(after - before);
    else if (old->stretched)
        line->trail->lost += (int64_t)(before - after);
    line->trail->least_bytes = after;
}

/* Counts a stretched block as lost when no block takes its place. */
static void note_loss(struct clp_heap *heap, const struct clp_heap_line *line,
                      const struct clp_shadow_slot *slot)
{
    struct clp_heap_trail *trail = line->trail;
    uint64_t bytes = clp_heap_slot_bytes(slot);

    trail->least_bytes = bytes;
    if (!slot->stretched)
        return;
    trail->lost += (int64_t)bytes;
    trail->missed = clp_heap_is_exact(heap) ? 0 : bytes;
    trail->missed_at = (uint32_t)clp_heap_clock_of(heap, line)->calls;
}

/* To be called when a block of the line is freed. Finds out whether a thing that grew ends with it, or only
 * took another step of its growth. */
static void note_end(struct clp_heap *heap, const struct clp_heap_line *line,
                     const struct clp_heap_block *freed)
{
    if (!is_lasting(heap, line, &freed->slot))
        return;
    struct clp_shadow_slot *heir = find_heir(heap, line, freed);
    if (heir == NULL) {
        note_loss(heap, line, &freed->slot);
        return;
    }
    note_change(heap, line, &freed->slot, heir);
    line->trail->newest = NULL;
}

/* Takes back that the missed block was lost, if the new block takes its place. The thing had a block in
 * between that is not in the table. */
static void find_missed(struct clp_heap_trail *trail, uint64_t calls, uint64_t bytes, struct clp_shadow_slot *slot)
{
    if ((uint32_t)calls - trail->missed_at <= MISSED_CALLS && bytes >= trail->missed) {
        trail->lost -= (int64_t)trail->missed;
        trail->stretched += (int64_t)(bytes - trail->missed);
        trail->missed = 0;
        slot->stretched = 1;
    }
}

/* To be called when the line has a new block, in `slot`. The block may take the place of an older one. */
static void note_birth(struct clp_heap *heap, const struct clp_heap_line *line, const void *address, uint64_t bytes,
                       struct clp_shadow_slot *slot)
{
    struct clp_heap_trail *trail = line->trail;

    if (trail == NULL || bytes < trail->least_bytes)
        return;
    trail->newest = address;
    if (trail->missed != 0)
        find_missed(trail, clp_heap_clock_of(heap, line)->calls, bytes, slot);
}

/* ---- changes of the table ---- */

static struct clp_heap_weight weight_of(const struct clp_heap *heap, const struct clp_shadow_slot *slot)
{
    return clp_heap_weight(heap, clp_heap_slot_bytes(slot), slot->level);
}

/* Counts what no selected line frees: it may be the end of the program. */
static void note_left(const struct clp_heap *heap, const struct clp_heap_line *line, int64_t bytes)
{
    uint64_t began = clp_heap_clock_of(heap, line)->began;

    if (line->trail->left_at != began)
        line->trail->left = 0;
    line->trail->left_at = began;
    line->trail->left += bytes;
}

/* Adds the block to the table. `old` is what it was before it was resized by the same line; NULL: a new block. */
static inline struct clp_shadow_slot *add(struct clp_heap *heap, const void *address, size_t bytes,
                                          const struct clp_heap_place *place, const struct clp_shadow_slot *old)
{
    struct clp_heap_line *line = find_line(heap, place);

    if (CLP_UNLIKELY(line == NULL))
        line = new_line(heap, place);
    struct clp_shadow_slot *slot = line != NULL ? make_room(heap, address, bytes) : NULL;
    if (CLP_UNLIKELY(slot == NULL)) {
        /* jemalloc and tcmalloc have blocks of 8 bytes, two to a slot: the second is not reported as lost */
        heap->lost |= bytes > CLP_SHADOW_GRANULE / 2 || clp_shadow_may_hold((uintptr_t)address);
        return NULL;
    }
    slot->execution = place->execution & CLP_HEAP_EXECUTION;
    slot->stretched = 0;
    slot->born = 0;
    slot->level = place->level & 7;
    if (CLP_UNLIKELY(heap->epochs != CLP_HEAP_NO_EPOCHS)) {
        note_run(heap, line, place->execution, old != NULL ? weight_of(heap, old).bytes : 0);
        slot->born = old != NULL ? old->born : (uint32_t)(heap->progress >> heap->born_shift);
        if (old == NULL)
            note_birth(heap, line, address, bytes, slot);
    }
    __atomic_store_n(&slot->owned, (uint64_t)bytes << CLP_HEAP_OWNER_BITS | line->number,
                     __ATOMIC_RELAXED);
    struct clp_heap_weight weight = add_bytes(heap, line, bytes, place->level, 1);
    line->allocated += (uint64_t)weight.bytes;
    line->allocated_blocks += (uint64_t)weight.blocks;
    return slot;
}

void clp_heap_add(struct clp_heap *heap, const void *address, size_t bytes,
                  const struct clp_heap_place *place)
{
    bool locked;

    if (!take_hold(heap, &locked))
        return;
    (void)add(heap, address, bytes, place, NULL);
    give_hold(heap, locked);
}

/* May the block, which is freed, have been garbage at the mark? The line has a trail. */
static bool was_garbage(const struct clp_heap *heap, const struct clp_heap_line *line, const struct clp_shadow_slot *slot)
{
    return heap->collecting && clp_heap_born_since(heap, slot, heap->collected) && line->trail->held_by == NULL;
}

/* Is the block, which is freed, to be taken off what was alive at the mark? The line has a trail. */
static bool unmarks(const struct clp_heap *heap, const struct clp_heap_line *line, const struct clp_shadow_slot *slot,
                    const struct clp_heap_place *place)
{
    bool over = clp_heap_is_over(heap), cleared = place->unmarks && !over;

    return (over || slot->born <= heap->marked >> heap->born_shift) && (cleared || was_garbage(heap, line, slot));
}

/* Removes the block of the slot, which the line at `place` frees. */
static inline void drop(struct clp_heap *heap, const void *address,
                        const struct clp_shadow_slot *slot, const struct clp_heap_place *place)
{
    struct clp_heap_line *line = owner_of(heap, slot);
    struct clp_heap_weight weight = add_bytes(heap, line, clp_heap_slot_bytes(slot), slot->level, -1);

    if (line->trail != NULL && unmarks(heap, line, slot, place))
        line->trail->at_mark -= weight.bytes;
    if (same_execution(heap, slot, place))
        line->freed_at_once += (uint64_t)weight.bytes;
    else if (line->trail != NULL && place->function == CLP_HEAP_NOBODY && !was_garbage(heap, line, slot))
        note_left(heap, line, weight.bytes);
    if (line->trail != NULL)
        note_end(heap, line, &(struct clp_heap_block){address, *slot, heap->restarts});
    clp_shadow_remove(&heap->shadow, address);
}

void clp_heap_drop(struct clp_heap *heap, const void *address, const struct clp_heap_place *place)
{
    bool locked;

    if (!take_hold(heap, &locked))
        return;
    const struct clp_shadow_slot *slot = clp_shadow_find(&heap->shadow, address);
    if (slot != NULL)
        drop(heap, address, slot, place);
    give_hold(heap, locked);
}

bool clp_heap_take(struct clp_heap *heap, const void *address, struct clp_heap_block *taken)
{
    bool locked;

    if (!take_hold(heap, &locked))
        return false;
    const struct clp_shadow_slot *slot = clp_shadow_find(&heap->shadow, address);
    if (slot != NULL) {
        *taken = (struct clp_heap_block){address, *slot, heap->restarts};
        add_bytes(heap, owner_of(heap, slot), clp_heap_slot_bytes(slot), slot->level, -1);
        clp_shadow_remove(&heap->shadow, address);
    }
    give_hold(heap, locked);
    return slot != NULL;
}

/* Does the work of clp_heap_moved, while the table is held. */
static void move(struct clp_heap *heap, const struct clp_heap_block *taken, const void *address,
                 size_t bytes, const struct clp_heap_place *place)
{
    const struct clp_shadow_slot *slot = taken != NULL ? &taken->slot : NULL;
    bool same_line = slot != NULL && find_line(heap, place) == owner_of(heap, slot);

    if (slot != NULL && same_execution(heap, slot, place))
        owner_of(heap, slot)->freed_at_once += (uint64_t)weight_of(heap, slot).bytes;
    struct clp_shadow_slot *resized =
        address != NULL ? add(heap, address, bytes, place, same_line ? slot : NULL) : NULL;
    if (slot == NULL || owner_of(heap, slot)->trail == NULL)
        return;
    if (!same_line)
        note_loss(heap, owner_of(heap, slot), slot);
    else if (resized != NULL)
        note_change(heap, owner_of(heap, slot), slot, resized);
    else if (is_lasting(heap, owner_of(heap, slot), slot))
        note_loss(heap, owner_of(heap, slot), slot); /* it was not chosen again */
}

void clp_heap_moved(struct clp_heap *heap, const struct clp_heap_block *taken, const void *address,
                    size_t bytes, const struct clp_heap_place *place)
{
    bool locked;

    if (!take_hold(heap, &locked))
        return;
    if (taken != NULL && taken->restarts != heap->restarts)
        taken = NULL;
    move(heap, taken, address, bytes, place);
    give_hold(heap, locked);
}

static void put_back(struct clp_heap *heap, const struct clp_heap_block *taken)
{
    uint64_t bytes = clp_heap_slot_bytes(&taken->slot);
    struct clp_shadow_slot *slot = make_room(heap, taken->address, bytes);

    if (slot != NULL) {
        clp_shadow_set(slot, &taken->slot);
        add_bytes(heap, owner_of(heap, slot), bytes, slot->level, 1);
    } else {
        heap->lost = true;
    }
}

void clp_heap_restore(struct clp_heap *heap, const struct clp_heap_block *taken)
{
    bool locked;

    if (!take_hold(heap, &locked))
        return;
    if (taken->restarts == heap->restarts)
        put_back(heap, taken);
    give_hold(heap, locked);
}

/* ---- C's allocators ---- */

void clp_heap_count_native(struct clp_heap *heap, size_t bytes, const struct clp_heap_place *place)
{
    struct clp_heap_weight weight = clp_heap_weight(heap, bytes, place->level);
    bool locked;

    if (!take_hold(heap, &locked))
        return;
    struct clp_heap_line *line = find_line(heap, place);
    if (line == NULL)
        line = new_line(heap, place);
    if (line != NULL) {
        line->native += (uint64_t)weight.bytes;
        line->native_blocks += (uint64_t)weight.blocks;
    }
    give_hold(heap, locked);
}

/* Adds the part of a mapping from `start` to `end`, if it is not empty, as a block of the same owner and
 * age. */
static void keep_part(struct clp_heap *heap, const struct clp_shadow_slot *whole, uint64_t start,
                      uint64_t end)
{
    uint64_t bytes = end - start;

    if (start >= end)
        return;
    struct clp_shadow_slot *slot = make_room(heap, (const void *)(uintptr_t)start, bytes);
    struct clp_shadow_slot part = *whole;
    part.owned = bytes << CLP_HEAP_OWNER_BITS | clp_heap_slot_owner(whole);
    if (slot != NULL) {
        clp_shadow_set(slot, &part);
        add_bytes(heap, owner_of(heap, slot), bytes, slot->level, 1);
    }
    heap->lost |= slot == NULL || clp_mappings_add(&heap->mappings, start, end) != CLP_OK;
}

static void unmap(struct clp_heap *heap, uint64_t start, uint64_t end,
                  const struct clp_heap_place *place)
{
    struct clp_mapping mapping;

    while (clp_mappings_take(&heap->mappings, start, end, &mapping)) {
        const void *address = (const void *)(uintptr_t)mapping.start;
        const struct clp_shadow_slot *slot = clp_shadow_find(&heap->shadow, address);
        if (slot == NULL)
            continue;
        struct clp_shadow_slot whole = *slot;
        drop(heap, address, slot, place);
        keep_part(heap, &whole, mapping.start, start);
        keep_part(heap, &whole, end, mapping.end);
    }
}

void clp_heap_map(struct clp_heap *heap, const void *address, size_t bytes,
                  const struct clp_heap_place *place)
{
    uint64_t start = (uintptr_t)address;
    bool locked;

    if (!take_hold(heap, &locked))
        return;
    unmap(heap, start, start + bytes, place);
    (void)add(heap, address, bytes, place, NULL);
    heap->lost |= clp_mappings_add(&heap->mappings, start, start + bytes) != CLP_OK;
    give_hold(heap, locked);
}

void clp_heap_unmap(struct clp_heap *heap, const void *address, size_t bytes,
                    const struct clp_heap_place *place)
{
    bool locked;

    if (!take_hold(heap, &locked))
        return;
    unmap(heap, (uintptr_t)address, (uintptr_t)address + bytes, place);
    give_hold(heap, locked);
}

/* ---- epochs ---- */

typedef void each_line(const struct clp_heap *heap, const struct clp_heap_line *line,
                       const struct clp_heap_clock *clock);

/* Calls `act` for each line whose epochs this clock counts. */
static void for_lines(struct clp_heap *heap, const struct clp_heap_clock *clock, each_line *act)
{
    for (size_t i = 0; i < heap->function_room; i++) {
        const struct clp_heap_function *function = &heap->functions[i];
        if (clock_of(heap, (uint32_t)i) != clock || function->lines == NULL)
            continue;
        for (uint32_t j = 0; j < function->line_count; j++)
            if (function->lines[j].trail != NULL)
                act(heap, &function->lines[j], clock);
    }
}

/* Keeps the line's numbers at the end of an epoch. */
static void note_live(const struct clp_heap *heap, const struct clp_heap_line *line, const struct clp_heap_clock *clock)
{
    struct clp_heap_trail *trail = line->trail;

    trail->live[clock->epochs] = clp_heap_alive(heap, line);
    trail->stretched_by[clock->epochs] = trail->stretched;
    trail->lost_by[clock->epochs] = trail->lost;
}

/* Joins every two epochs of the line to one. */
static void join_pairs(const struct clp_heap *heap, const struct clp_heap_line *line,
                       const struct clp_heap_clock *clock)
{
    (void)heap;
    struct clp_heap_trail *trail = line->trail;

    for (size_t i = 1; i <= clock->epochs / 2; i++) {
        trail->live[i] = trail->live[2 * i];
        trail->stretched_by[i] = trail->stretched_by[2 * i];
        trail->lost_by[i] = trail->lost_by[2 * i];
    }
}

/* Ends the clock's present epoch if it has had all its calls or ticks. */
static void end_epoch(struct clp_heap *heap, struct clp_heap_clock *clock)
{
    if (clock->epochs == CLP_LEAKS_MOST_EPOCHS) {
        for_lines(heap, clock, join_pairs);
        join_clock(clock);
    }
    if (clock->calls != (clock->epochs + 1) * clock->stride)
        return;
    clock->at[++clock->epochs] = heap->progress;
    for_lines(heap, clock, note_live);
}

/* A call's epoch ends when the next call begins, because the local objects of the call are freed by then. */
static void count_calls(struct clp_heap *heap, struct clp_heap_clock *clock, uint32_t count)
{
    while (count > 0) {
        if (clock->calls == (clock->epochs + 1) * clock->stride)
            end_epoch(heap, clock);
        uint64_t left = (clock->epochs + 1) * clock->stride - clock->calls;
        uint32_t step = left < count ? (uint32_t)left : count;
        begin_calls(heap, clock, step);
        count -= step;
    }
}

void clp_heap_call(struct clp_heap *heap, uint32_t number, uint32_t count)
{
    bool locked;

    if (!take_hold(heap, &locked))
        return;
    struct clp_heap_function *function = function_of(heap, number);
    if (function == NULL)
        heap->lost = true;
    else
        count_calls(heap, &function->clock, count);
    give_hold(heap, locked);
}

void clp_heap_tick(struct clp_heap *heap)
{
    bool locked;

    if (!take_hold(heap, &locked))
        return;
    begin_calls(heap, &heap->clock, 1);
    end_epoch(heap, &heap->clock);
    give_hold(heap, locked);
}

/* Ends the last epoch. Calls or ticks that do not fill an epoch are added to the one before. */
static void finish_clock(struct clp_heap *heap, struct clp_heap_clock *clock)
{
    size_t before = clock->epochs;

    end_epoch(heap, clock);
    if (clock->epochs == before && before != 0)
        for_lines(heap, clock, note_live);
}

static void finish_runs(const struct clp_heap *heap, const struct clp_heap_line *line,
                        const struct clp_heap_clock *clock)
{
    struct clp_heap_runs *runs = line->trail->runs;

    (void)clock;
    if (runs != NULL && runs->clock.epochs != 0)
        runs->live[runs->clock.epochs] = clp_heap_alive(heap, line);
}

void clp_heap_finish(struct clp_heap *heap)
{
    bool locked;

    if (!take_hold(heap, &locked))
        return;
    if (heap->epochs == CLP_HEAP_BY_ONE)
        finish_clock(heap, &heap->clock);
    for (size_t i = 0; heap->epochs == CLP_HEAP_BY_CALLS && i < heap->function_room; i++) {
        finish_clock(heap, &heap->functions[i].clock);
        for_lines(heap, &heap->functions[i].clock, finish_runs);
    }
    give_hold(heap, locked);
}

void clp_heap_note_holder(struct clp_heap *heap, uint32_t owner, const char *text)
{
    struct clp_heap_trail *trail = heap->owners[owner]->trail;
    bool locked;

    if (trail == NULL || (trail->held_by != NULL && strcmp(trail->held_by, text) == 0) || !take_hold(heap, &locked))
        return;
    char *copy = clp_mem_copy_text(&heap->arena.mem, text, strlen(text));
    if (copy != NULL)
        trail->held_by = copy; /* the arena keeps the old one, too */
    give_hold(heap, locked);
}

/* ---- the end of the program ---- */

/* What is alive of the line, with what no selected line has freed since its last call. */
static int64_t alive_with_left(const struct clp_heap *heap, const struct clp_heap_line *line)
{
    const struct clp_heap_trail *trail = line->trail;

    return line->live + (trail->left_at == clp_heap_clock_of(heap, line)->began ? trail->left : 0);
}

/* Sets the mark of the line, or only raises it to what is alive now. */
static void mark_line(const struct clp_heap *heap, const struct clp_heap_line *line, bool raise)
{
    int64_t alive = alive_with_left(heap, line);

    if (!raise || alive > line->trail->at_mark)
        line->trail->at_mark = alive;
}

static void mark_lines(const struct clp_heap *heap, bool raise)
{
    for (size_t i = 0; i < heap->function_room; i++) {
        const struct clp_heap_function *function = &heap->functions[i];
        for (uint32_t j = 0; function->lines != NULL && j < function->line_count; j++)
            if (function->lines[j].trail != NULL)
                mark_line(heap, &function->lines[j], raise);
    }
}

bool clp_heap_is_marked(const struct clp_heap *heap)
{
    return heap->end != CLP_HEAP_RUNS && heap->progress - heap->marked <= heap->marked / FRESH;
}

bool clp_heap_mark(struct clp_heap *heap, enum clp_heap_end end)
{
    bool locked;

    if (!take_hold(heap, &locked))
        return false;
    bool over = clp_heap_is_over(heap), marks = !over && !clp_heap_is_marked(heap);
    if (marks || (!over && end == CLP_HEAP_ENDED))
        mark_lines(heap, !marks);
    if (marks) {
        heap->marked = heap->progress;
        heap->weighed &= end != CLP_HEAP_ENDED; /* after other marks, those of a look that is not much older will do */
    }
    if (heap->end < end)
        heap->end = end;
    give_hold(heap, locked);
    return marks;
}

/* ---- life ---- */

/* The usual interval is finer at first. */
static void begin_choosing(struct clp_heap *heap)
{
    __atomic_store_n(&heap->chosen, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&heap->level, heap->interval == CLP_HEAP_INTERVAL ? CLP_HEAP_LEVELS : 0, __ATOMIC_RELAXED);
}

/* Prepares the empty table. The shadow must be empty. */
static clp_status begin(struct clp_heap *heap)
{
    clp_mappings_init(&heap->mappings, &heap->arena.mem);
    heap->clock.stride = 1;
    heap->nobody.function = CLP_HEAP_NOBODY;
    heap->owner_count = 1; /* 0 is none */
    return give_number(heap, &heap->nobody) ? CLP_OK : CLP_NO_MEMORY;
}

clp_status clp_heap_init(struct clp_heap *heap, uint64_t interval, enum clp_heap_epochs epochs)
{
    *heap = (struct clp_heap){.interval = interval, .epochs = epochs};
    begin_choosing(heap);
    clp_arena_init(&heap->arena, &heap->pages);
    clp_status status = clp_shadow_init(&heap->shadow, &heap->pages);
    return status == CLP_OK ? begin(heap) : status;
}

static void forget(struct clp_heap *heap)
{
    clp_shadow_empty(&heap->shadow);
    clp_arena_clear(&heap->arena);
    heap->owners = NULL;
    heap->functions = NULL;
    heap->owner_room = heap->function_room = 0;
    heap->nobody = (struct clp_heap_line){0};
    heap->clock = (struct clp_heap_clock){0};
    heap->progress = heap->marked = heap->collected = 0;
    heap->born_shift = 0;
    heap->end = CLP_HEAP_RUNS;
    heap->live = heap->peak = 0;
    heap->peak_number = 0;
    heap->lost = false;
    heap->restarts++;
}

clp_status clp_heap_restart(struct clp_heap *heap, uint64_t interval, enum clp_heap_epochs epochs)
{
    clp_status status;
    bool locked;

    if (!take_hold(heap, &locked))
        return CLP_NO_MEMORY;
    forget(heap);
    __atomic_store_n(&heap->interval, interval, __ATOMIC_RELAXED);
    heap->epochs = epochs;
    begin_choosing(heap);
    status = begin(heap);
    give_hold(heap, locked);
    return status;
}

void clp_heap_fork_prepare(struct clp_heap *heap)
{
    (void)clp_lock_take(&heap->lock);
}

void clp_heap_fork_done(struct clp_heap *heap)
{
    clp_lock_give(&heap->lock);
}

void clp_heap_clear(struct clp_heap *heap)
{
    clp_shadow_clear(&heap->shadow);
    clp_arena_clear(&heap->arena);
    *heap = (struct clp_heap){.pages = heap->pages};
}
