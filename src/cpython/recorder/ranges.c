/* SPDX-License-Identifier: MIT */
#include "ranges.h"
#include "engine/hot.h"
#include "os/nvtx.h"
#include <stdlib.h>

/* A range: what tells its activation apart. */
struct range {
    uint32_t function;
    const void *frame; /* NULL: `entered` tells it apart */
    uint64_t entered;
};

struct clp_ranges {
    struct range *items;
    size_t count, room;
};

bool clp_ranges_start(struct clp_recorder *recorder)
{
    if (clp_nvtx_open() != NULL)
        return false;
    recorder->ranges++;
    recorder->engine.has_ranges = true;
    clp_engine_spread_spans(&recorder->engine);
    return true;
}

void clp_ranges_stop(struct clp_recorder *recorder)
{
    if (--recorder->ranges != 0)
        return;
    recorder->engine.has_ranges = false;
    clp_engine_spread_spans(&recorder->engine);
}

static struct range range_of(const struct clp_activation *activation)
{
    return (struct range){activation->block->function, activation->frame,
                          activation->frame == NULL ? activation->entered : 0};
}

static bool is_of(const struct range *range, const struct clp_activation *activation)
{
    struct range other = range_of(activation);

    return range->function == other.function && range->frame == other.frame && range->entered == other.entered;
}

/* Makes room for one more. False: no memory. */
static bool grow(struct clp_ranges *ranges)
{
    size_t room = ranges->room * 2 + 16;
    struct range *items = realloc(ranges->items, room * sizeof *items);

    if (items != NULL) {
        ranges->items = items;
        ranges->room = room;
    }
    return items != NULL;
}

static void pop_down_to(struct clp_ranges *ranges, size_t count)
{
    for (; ranges->count > count; ranges->count--)
        clp_nvtx_pop();
}

static bool push(struct clp_ranges *ranges, const struct clp_thread *thread, const struct clp_activation *activation)
{
    if (ranges->count == ranges->room && !grow(ranges))
        return false;
    ranges->items[ranges->count++] = range_of(activation);
    clp_nvtx_push(thread->engine->functions.items[activation->block->function].name);
    return true;
}

/* How many of the ranges, from the lowest on, are those of the stack. Only the upper ends of both may differ. */
static size_t count_common(const struct clp_ranges *ranges, const struct clp_thread *thread)
{
    size_t depth = (size_t)(thread->top - thread->stack), common = ranges->count < depth ? ranges->count : depth;

    while (common > 0 && !is_of(&ranges->items[common - 1], &thread->stack[common]))
        common--;
    return common;
}

void clp_ranges_follow(struct clp_thread *thread)
{
    const struct clp_recorder *recorder = clp_recorder_of(thread);

    if (recorder->blocks.walks != 0 || recorder->blocks.lifted)
        return;
    if (thread->ranges == NULL && (thread->ranges = calloc(1, sizeof *thread->ranges)) == NULL)
        return;
    size_t depth = (size_t)(thread->top - thread->stack), common = count_common(thread->ranges, thread);
    pop_down_to(thread->ranges, common);
    while (common < depth && push(thread->ranges, thread, &thread->stack[common + 1]))
        common++;
}

void clp_ranges_end(struct clp_thread *thread)
{
    if (thread->ranges == NULL)
        return;
    pop_down_to(thread->ranges, 0);
    free(thread->ranges->items);
    free(thread->ranges);
    thread->ranges = NULL;
}
