/* SPDX-License-Identifier: MIT */
#include "light_memory.h"
#include "light_line.h"
#include "base/random.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Intervals. Before those of a burst come up to as many at random that are timed, too: a tick meets long intervals more
 * often than short ones, and what follows them would be seen too often. */
#define BURST 64
#define READS_IN_LONG_LINE 16
#define BURSTS_OF_LATE 8
/* A burst begins a millisecond after the last one, or a tenth of that while memory changes, but not before so many
 * lengths of the last one. */
#define SOONER 10
#define BURST_LENGTHS 4

static bool is_read(const struct clp_engine *engine)
{
    return engine->rss_span != UINT64_MAX;
}

uint64_t clp_light_memory_long_line(const struct clp_thread *thread)
{
    const struct clp_engine *engine = thread->engine;
    uint64_t reads = is_read(engine) ? READS_IN_LONG_LINE * engine->read_cost.least : 0;

    return reads > thread->light.long_line ? reads : thread->light.long_line;
}

void clp_light_memory_begin_event(struct clp_thread *thread, bool always)
{
    const struct clp_light *light = &thread->light;
    struct clp_light_memory *memory = &thread->light.memory;

    memory->sampled = light->timed && !light->times && memory->burst != 0 && light->first <= BURST;
    if (!light->timed) {
        memory->known = false;
        memory->between += thread->correction - memory->charged;
    } else if (!light->times && !clp_light_is_long(light, light->length)) {
        memory->length += light->length;
    }
    memory->charged = thread->correction;
    memory->wanted = always && !memory->known && is_read(thread->engine);
}

/* The part of `bytes` that has the sign of `like`, and is no more than it. */
static int64_t within(int64_t bytes, int64_t like)
{
    if (like > 0)
        return bytes < 0 ? 0 : bytes < like ? bytes : like;
    return bytes > 0 ? 0 : bytes > like ? bytes : like;
}

/* What the line on top, which has changed memory by `own` bytes in a burst, gets for the time between bursts. It has the
 * same sign, or is 0. Where memory only grows, or only falls, it cannot be more than what has changed. */
static int64_t share_of(struct clp_light_memory *memory, int64_t own)
{
    bool released = own < 0;
    double times = memory->usual_within > 0 ? memory->usual_between / memory->usual_within : 0;
    double part = memory->usual[released] != 0 ? fabs((double)own) / (double)memory->usual[released] : 1;
    int64_t share = (int64_t)(times * (double)own), due = (int64_t)(fmin(part, 1) * (double)memory->due);

    if (memory->seen[!released] == 0 && memory->usual[!released] == 0)
        share = within(memory->open, share);
    if (released ? due > -share : due < -share)
        due = -share;
    memory->open -= share;
    memory->due -= due;
    return share + due;
}

int64_t clp_light_memory_take(struct clp_thread *thread, int64_t own)
{
    struct clp_light_memory *memory = &thread->light.memory;
    bool known = memory->known || clp_light_is_long(&thread->light, thread->light.length);

    memory->known = true;
    if (!known) {
        memory->next += own;
        memory->changes |= own != 0;
        return 0;
    }
    if (own == 0 || !memory->sampled)
        return own;
    int64_t share = share_of(memory, own);
    memory->seen[own < 0] += (uint64_t)llabs(own);
    memory->shared += share;
    clp_light_cell_of_top(thread)->memory_squares += (double)share * (double)share;
    return own + share;
}

static void begin_burst(struct clp_light *light)
{
    struct clp_light_memory *memory = &light->memory;

    if (memory->burst != 0) {
        memory->usual_between += ((double)memory->between - memory->usual_between) / BURSTS_OF_LATE;
        memory->usual_within += ((double)memory->within - memory->usual_within) / BURSTS_OF_LATE;
    }
    if (memory->seen[0] + memory->seen[1] != 0)
        memcpy(memory->usual, memory->seen, sizeof memory->usual);
    memset(memory->seen, 0, sizeof memory->seen);
    memory->due += memory->open;
    memory->open = memory->next;
    memory->next = 0;
    memory->between = memory->within = 0;
    memory->length = 0;
    memory->burst = light->read;
    if (light->first < BURST)
        light->first = BURST + (int64_t)(clp_random_uniform(&memory->random) * BURST);
}

/* How many ticks must lie between two bursts. */
static uint64_t bursts_apart(const struct clp_light *light)
{
    uint64_t apart = light->memory.changed ? light->long_stay / SOONER : light->long_stay;
    uint64_t lengths = BURST_LENGTHS * light->memory.length;

    return lengths > apart ? lengths : apart;
}

void clp_light_memory_end_event(struct clp_thread *thread)
{
    struct clp_light *light = &thread->light;
    struct clp_light_memory *memory = &light->memory;
    bool met_a_tick = !light->timed && light->length != 0;

    if (memory->sampled)
        memory->within += thread->correction - memory->charged;
    else if (!light->timed)
        memory->between += thread->correction - memory->charged;
    memory->wanted = false;
    if (!met_a_tick || !memory->known)
        return;
    if (light->read - memory->burst >= bursts_apart(light))
        begin_burst(light);
    memory->changed = memory->changes;
    memory->changes = false;
}

double clp_light_memory_error(const struct clp_light_cell *cell)
{
    return sqrt(cell->memory_squares);
}
