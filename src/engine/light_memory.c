/* SPDX-License-Identifier: MIT */
#include "light_memory.h"
#include "light.h"
#include <stdlib.h>

#define BURST 64 /* intervals */
#define READS_IN_LONG_LINE 16

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

    if (!light->timed)
        memory->known = false;
    memory->sampled = light->timed && !light->times;
    memory->wanted = always && !memory->known && is_read(thread->engine);
}

/* Counts bytes, with their sign, as a change that is no line's. */
static void leave_to_nobody(struct clp_thread *thread, int64_t bytes, bool released)
{
    if (released)
        thread->others_released -= bytes;
    else
        thread->others_grown += bytes;
}

static int64_t leave_open(struct clp_thread *thread, int64_t bytes, bool released)
{
    thread->light.memory.open[released] += bytes;
    leave_to_nobody(thread, bytes, released);
    return 0;
}

/* The line on top takes its share of what is open. */
static int64_t take_share(struct clp_thread *thread, bool released)
{
    struct clp_light_memory *memory = &thread->light.memory;
    uint32_t usual = memory->usual[released];
    int64_t share = memory->open[released] / (usual != 0 ? usual : 1);

    memory->seen[released]++;
    memory->open[released] -= share;
    leave_to_nobody(thread, -share, released);
    clp_light_cell_of_top(thread)->memory_squares += (double)share * (double)share;
    return share;
}

int64_t clp_light_memory_take(struct clp_thread *thread, int64_t own)
{
    struct clp_light_memory *memory = &thread->light.memory;
    bool known = memory->known || thread->light.length >= thread->light.long_stay;

    memory->known = true;
    if (own == 0)
        return 0;
    if (!known)
        return leave_open(thread, own, own < 0);
    return memory->sampled && thread->top->cell != &thread->outside ? own + take_share(thread, own < 0) : own;
}

static void begin_burst(struct clp_light *light)
{
    struct clp_light_memory *memory = &light->memory;

    memory->burst = light->read;
    for (int i = 0; i < 2; i++) {
        if (memory->seen[i] != 0)
            memory->usual[i] = memory->seen[i];
        memory->seen[i] = 0;
    }
    if (light->first < BURST)
        light->first = BURST;
}

void clp_light_memory_end_event(struct clp_thread *thread)
{
    struct clp_light *light = &thread->light;
    bool met_a_tick = !light->timed && light->length != 0;

    light->memory.wanted = false;
    if (met_a_tick && light->memory.known && light->read - light->memory.burst >= light->long_stay)
        begin_burst(light);
}
