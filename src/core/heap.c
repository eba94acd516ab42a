/* SPDX-License-Identifier: MIT */
#include "heap.h"
#include <math.h>
#include <string.h>

#define FIRST_ROOM 128 /* of a shard: a page */
#define FIRST_FILTER ((size_t)1 << 16)
#define FILTER_FULL 255
/* Blocks born in the first calls may die without being evidence: programs warm up. */
#define WARM_CALLS 3

/* ---- sampling ---- */

static bool is_exact(const struct clp_heap *heap)
{
    return heap->interval <= 1;
}

/* xorshift64*: cheap, and good enough to choose blocks by. */
static double draw_uniform(uint64_t *random)
{
    uint64_t x = *random;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *random = x;
    return ((double)((x * UINT64_C(0x2545F4914F6CDD1D)) >> 11) + 0.5) / 9007199254740992.0;
}

int64_t clp_heap_draw(struct clp_heap *heap, uint64_t *random)
{
    if (is_exact(heap))
        return -1;
    if (*random == 0)
        *random = (__atomic_add_fetch(&heap->seeds, 1, __ATOMIC_RELAXED) *
                   UINT64_C(0x9E3779B97F4A7C15)) | 1;
    return (int64_t)(-log(draw_uniform(random)) * (double)heap->interval);
}

struct clp_heap_weight clp_heap_weight(const struct clp_heap *heap, uint64_t bytes)
{
    if (is_exact(heap))
        return (struct clp_heap_weight){(int64_t)bytes, CLP_HEAP_ONE};
    double size = bytes != 0 ? (double)bytes : 1;
    double chance = -expm1(-size / (double)heap->interval);
    return (struct clp_heap_weight){llround(size / chance), llround(CLP_HEAP_ONE / chance)};
}

/* ---- the filter ---- */

static struct clp_heap_filter *new_filter(struct clp_heap *heap, size_t counts)
{
    size_t mapped;
    struct clp_heap_filter *filter =
        clp_pages_map(&heap->pages, sizeof *filter + counts, &mapped);

    if (filter != NULL)
        filter->mask = counts - 1;
    return filter;
}

static void count_in(struct clp_heap_filter *filter, uint64_t address, int change)
{
    unsigned char *count = &filter->counts[clp_heap_filter_place(filter, address)];
    unsigned char now = __atomic_load_n(count, __ATOMIC_RELAXED);

    if (now != FILTER_FULL)
        __atomic_store_n(count, (unsigned char)(now + change), __ATOMIC_RELAXED);
}

/* A filter of twice the size with all that is in the table; the old one stays for who looks at
 * it. */
static void grow_filter(struct clp_heap *heap)
{
    struct clp_heap_filter *filter = new_filter(heap, (heap->filter->mask + 1) * 2);

    if (filter == NULL)
        return; /* it only says "maybe" more often */
    for (size_t i = 0; i < CLP_HEAP_SHARDS; i++) {
        const struct clp_heap_shard *shard = &heap->shards[i];
        for (size_t j = 0; j < shard->room; j++)
            if (shard->blocks[j].address != 0)
                count_in(filter, shard->blocks[j].address, 1);
    }
    __atomic_store_n(&heap->filter, filter, __ATOMIC_RELEASE);
}

/* ---- the table ---- */

static struct clp_heap_shard *shard_of(struct clp_heap *heap, uint64_t address)
{
    return &heap->shards[clp_heap_hash(address) >> 58];
}

static size_t home_of(const struct clp_heap_shard *shard, uint64_t address)
{
    return ((clp_heap_hash(address) >> 24) + clp_heap_offset(address)) & (shard->room - 1);
}

/* The block's place, or the free one where it would go. There is a free one. */
static struct clp_heap_block *find(const struct clp_heap_shard *shard, uint64_t address)
{
    size_t at = home_of(shard, address);

    while (shard->blocks[at].address != 0 && shard->blocks[at].address != address)
        at = (at + 1) & (shard->room - 1);
    return &shard->blocks[at];
}

static bool grow_shard(struct clp_heap *heap, struct clp_heap_shard *shard)
{
    struct clp_heap_shard wider = {.room = shard->room != 0 ? shard->room * 2 : FIRST_ROOM,
                                   .used = shard->used};

    wider.blocks =
        clp_pages_map(&heap->pages, wider.room * sizeof *wider.blocks, &wider.mapped);
    if (wider.blocks == NULL)
        return false;
    for (size_t i = 0; i < shard->room; i++)
        if (shard->blocks[i].address != 0)
            *find(&wider, shard->blocks[i].address) = shard->blocks[i];
    if (shard->room != 0)
        clp_pages_unmap(&heap->pages, shard->blocks, shard->mapped);
    *shard = wider;
    return true;
}

/* A place for one more block in the shard, half full at most. */
static bool has_room(struct clp_heap *heap, struct clp_heap_shard *shard)
{
    return (shard->used + 1) * 2 <= shard->room || grow_shard(heap, shard);
}

/* Takes the block out and moves those behind it up, so that none is cut off from its home. */
static void close_gap(struct clp_heap_shard *shard, struct clp_heap_block *gap)
{
    size_t mask = shard->room - 1, hole = (size_t)(gap - shard->blocks);

    for (size_t at = (hole + 1) & mask; shard->blocks[at].address != 0; at = (at + 1) & mask) {
        size_t home = home_of(shard, shard->blocks[at].address);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue; /* its home lies behind the hole */
        shard->blocks[hole] = shard->blocks[at];
        hole = at;
    }
    shard->blocks[hole] = (struct clp_heap_block){0};
    shard->used--;
}

/* The block's place in the table, or NULL. */
static struct clp_heap_block *look_up(struct clp_heap *heap, const void *address)
{
    struct clp_heap_shard *shard = shard_of(heap, (uintptr_t)address);
    struct clp_heap_block *found =
        shard->room != 0 ? find(shard, (uintptr_t)address) : NULL;

    return found != NULL && found->address != 0 ? found : NULL;
}

static void take_out(struct clp_heap *heap, struct clp_heap_block *block)
{
    if (heap->filter != NULL)
        count_in(heap->filter, block->address, -1);
    heap->count--;
    close_gap(shard_of(heap, block->address), block);
}

static bool put_in(struct clp_heap *heap, const struct clp_heap_block *block)
{
    struct clp_heap_shard *shard = shard_of(heap, block->address);

    if (!has_room(heap, shard))
        return false;
    *find(shard, block->address) = *block;
    shard->used++;
    heap->count++;
    if (heap->filter == NULL)
        return true;
    count_in(heap->filter, block->address, 1);
    if (heap->count * 8 > heap->filter->mask)
        grow_filter(heap);
    return true;
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
    struct clp_heap_line *line = function->lines != NULL ? &function->lines[place->line] : NULL;
    if (line != NULL && line->trail == NULL && heap->epochs != CLP_HEAP_NO_EPOCHS)
        line->trail = clp_mem_alloc(&heap->arena.mem, 1, sizeof *line->trail);
    return line;
}

static struct clp_heap_line *line_of(struct clp_heap *heap, uint32_t function, uint32_t line)
{
    return function == CLP_HEAP_NOBODY ? &heap->nobody : &heap->functions[function].lines[line];
}

static struct clp_heap_clock *clock_of(struct clp_heap *heap, uint32_t function)
{
    return heap->epochs == CLP_HEAP_BY_CALLS && function != CLP_HEAP_NOBODY
               ? &heap->functions[function].clock
               : &heap->clock;
}

/* What the line has is about to change: was there a peak meanwhile? */
static void settle(const struct clp_heap *heap, struct clp_heap_line *line)
{
    if (line->peak == heap->peak_number)
        return;
    line->at_peak = line->live;
    line->peak = heap->peak_number;
}

static void change(struct clp_heap *heap, struct clp_heap_line *line, struct clp_heap_weight weight,
                   int sign)
{
    settle(heap, line);
    line->live += sign * weight.bytes;
    line->blocks += sign * weight.blocks;
    heap->live += sign * weight.bytes;
    if (heap->live <= heap->peak)
        return;
    heap->peak = heap->live;
    heap->peak_number++;
}

static bool same_execution(const struct clp_heap_block *block, const struct clp_heap_place *place)
{
    return place->function != CLP_HEAP_NOBODY && block->function == place->function &&
           block->line == place->line && block->execution == place->execution;
}

/* [i] of the trail's ages; negative: not older than three calls. */
static int age_class(uint64_t age)
{
    int class = -1;

    while (age > CLP_LEAKS_OLD_EPOCHS && class < CLP_HEAP_AGES - 1) {
        class++;
        age = (age + 1) / 2;
    }
    return class;
}

static void note_death(struct clp_heap *heap, const struct clp_heap_line *line,
                       const struct clp_heap_block *block, struct clp_heap_weight weight)
{
    uint32_t now = (uint32_t)clock_of(heap, block->function)->calls;

    if (line->trail == NULL || block->born <= WARM_CALLS || now < block->born)
        return;
    int class = age_class(now - block->born);
    if (class < 0)
        return;
    line->trail->dead[class] += (uint64_t)weight.blocks;
    line->trail->deaths[class]++;
}

/* Adds the block, a new one unless it is `born` already. */
static bool add(struct clp_heap *heap, const void *address, size_t bytes,
                const struct clp_heap_place *place, const uint32_t *born)
{
    bool nobody = place->function == CLP_HEAP_NOBODY;
    struct clp_heap_line *line = nobody ? &heap->nobody : new_line(heap, place);
    struct clp_heap_block block = {.address = (uintptr_t)address,
                                   .bytes = bytes,
                                   .function = place->function,
                                   .line = nobody ? 0 : place->line,
                                   .execution = place->execution};

    if (line == NULL)
        return false;
    block.born = born != NULL ? *born : (uint32_t)clock_of(heap, place->function)->calls;
    if (!put_in(heap, &block))
        return false;
    change(heap, line, clp_heap_weight(heap, bytes), 1);
    return true;
}

/* An address that is in the table already was freed behind our back. */
static void forget_stale(struct clp_heap *heap, const void *address)
{
    struct clp_heap_block *stale = look_up(heap, address);

    if (stale == NULL)
        return;
    change(heap, line_of(heap, stale->function, stale->line),
           clp_heap_weight(heap, stale->bytes), -1);
    take_out(heap, stale);
}

/* ---- events ---- */

void clp_heap_add(struct clp_heap *heap, const void *address, size_t bytes,
                  const struct clp_heap_place *place)
{
    if (!clp_lock_take(&heap->lock))
        return;
    forget_stale(heap, address);
    if (!add(heap, address, bytes, place, NULL))
        heap->lost = true;
    clp_lock_give(&heap->lock);
}

void clp_heap_drop(struct clp_heap *heap, const void *address, const struct clp_heap_place *place)
{
    if (!clp_lock_take(&heap->lock))
        return;
    struct clp_heap_block *block = look_up(heap, address);
    if (block != NULL) {
        struct clp_heap_line *line = line_of(heap, block->function, block->line);
        struct clp_heap_weight weight = clp_heap_weight(heap, block->bytes);
        change(heap, line, weight, -1);
        if (same_execution(block, place))
            line->freed_at_once += (uint64_t)weight.bytes;
        else
            note_death(heap, line, block, weight);
        take_out(heap, block);
    }
    clp_lock_give(&heap->lock);
}

bool clp_heap_take(struct clp_heap *heap, const void *address, struct clp_heap_block *taken)
{
    if (!clp_lock_take(&heap->lock))
        return false;
    struct clp_heap_block *block = look_up(heap, address);
    if (block != NULL) {
        *taken = *block;
        change(heap, line_of(heap, block->function, block->line),
               clp_heap_weight(heap, block->bytes), -1);
        take_out(heap, block);
    }
    clp_lock_give(&heap->lock);
    return block != NULL;
}

void clp_heap_moved(struct clp_heap *heap, const struct clp_heap_block *taken, const void *address,
                    size_t bytes, const struct clp_heap_place *place)
{
    bool same_line = taken != NULL && taken->function == place->function &&
                     (taken->function == CLP_HEAP_NOBODY || taken->line == place->line);

    if (!clp_lock_take(&heap->lock))
        return;
    if (taken != NULL && same_execution(taken, place))
        line_of(heap, taken->function, taken->line)->freed_at_once +=
            (uint64_t)clp_heap_weight(heap, taken->bytes).bytes;
    if (address != NULL) {
        forget_stale(heap, address);
        if (!add(heap, address, bytes, place, same_line ? &taken->born : NULL))
            heap->lost = true;
    }
    clp_lock_give(&heap->lock);
}

void clp_heap_restore(struct clp_heap *heap, const struct clp_heap_block *taken)
{
    if (!clp_lock_take(&heap->lock))
        return;
    if (put_in(heap, taken))
        change(heap, line_of(heap, taken->function, taken->line),
               clp_heap_weight(heap, taken->bytes), 1);
    else
        heap->lost = true;
    clp_lock_give(&heap->lock);
}

/* ---- epochs ---- */

typedef void each_line(const struct clp_heap_line *line, const struct clp_heap_clock *clock);

/* The lines that go by this clock. */
static void for_lines(struct clp_heap *heap, const struct clp_heap_clock *clock, each_line *act)
{
    for (size_t i = 0; i < heap->function_room; i++) {
        const struct clp_heap_function *function = &heap->functions[i];
        if (clock_of(heap, (uint32_t)i) != clock || function->lines == NULL)
            continue;
        for (uint32_t j = 0; j < function->line_count; j++)
            if (function->lines[j].trail != NULL)
                act(&function->lines[j], clock);
    }
}

static void note_live(const struct clp_heap_line *line, const struct clp_heap_clock *clock)
{
    line->trail->live[clock->epochs] = line->live;
}

static void join_pairs(const struct clp_heap_line *line, const struct clp_heap_clock *clock)
{
    for (size_t i = 1; i <= clock->epochs / 2; i++)
        line->trail->live[i] = line->trail->live[2 * i];
}

static void end_epoch(struct clp_heap *heap, struct clp_heap_clock *clock)
{
    if (clock->epochs == CLP_LEAKS_MOST_EPOCHS) {
        for_lines(heap, clock, join_pairs);
        clock->epochs /= 2;
        clock->stride *= 2;
    }
    if (clock->calls != (clock->epochs + 1) * clock->stride)
        return;
    clock->epochs++;
    for_lines(heap, clock, note_live);
}

/* So many calls are over when the next one begins: what the last one held is gone by then. */
void clp_heap_call(struct clp_heap *heap, uint32_t number)
{
    if (!clp_lock_take(&heap->lock))
        return;
    struct clp_heap_function *function = function_of(heap, number);
    if (function == NULL) {
        heap->lost = true;
    } else {
        if (function->clock.calls == (function->clock.epochs + 1) * function->clock.stride)
            end_epoch(heap, &function->clock);
        function->clock.calls++;
    }
    clp_lock_give(&heap->lock);
}

void clp_heap_tick(struct clp_heap *heap)
{
    if (!clp_lock_take(&heap->lock))
        return;
    heap->clock.calls++;
    end_epoch(heap, &heap->clock);
    clp_lock_give(&heap->lock);
}

/* The last epoch takes in what is left over of calls. */
static void finish_clock(struct clp_heap *heap, struct clp_heap_clock *clock)
{
    size_t before = clock->epochs;

    end_epoch(heap, clock);
    if (clock->epochs == before && before != 0)
        for_lines(heap, clock, note_live);
}

void clp_heap_finish(struct clp_heap *heap)
{
    if (!clp_lock_take(&heap->lock))
        return;
    if (heap->epochs == CLP_HEAP_BY_ONE)
        finish_clock(heap, &heap->clock);
    else if (heap->epochs == CLP_HEAP_BY_CALLS)
        for (size_t i = 0; i < heap->function_room; i++)
            finish_clock(heap, &heap->functions[i].clock);
    clp_lock_give(&heap->lock);
}

/* ---- life ---- */

clp_status clp_heap_init(struct clp_heap *heap, uint64_t interval, enum clp_heap_epochs epochs)
{
    *heap = (struct clp_heap){.interval = interval, .epochs = epochs, .clock.stride = 1};
    clp_arena_init(&heap->arena, &heap->pages);
    if (is_exact(heap))
        return CLP_OK; /* every block is there: nothing to filter */
    heap->filter = new_filter(heap, FIRST_FILTER);
    return heap->filter != NULL ? CLP_OK : CLP_NO_MEMORY;
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
    for (size_t i = 0; i < CLP_HEAP_SHARDS; i++)
        if (heap->shards[i].room != 0)
            clp_pages_unmap(&heap->pages, heap->shards[i].blocks, heap->shards[i].mapped);
    clp_arena_clear(&heap->arena);
    *heap = (struct clp_heap){.pages = heap->pages};
}
