/* SPDX-License-Identifier: MIT */
#include "light_memory.h"
#include "light.h"
#include <math.h>
#include <stdlib.h>

#define BURST 64 /* intervals */
#define READS_IN_LONG_LINE 16
#define BURSTS_OF_LATE 8

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

    memory->sampled = light->timed && !light->times && memory->burst != 0;
    if (!light->timed) {
        memory->known = false;
        memory->between += light->read - memory->at;
    } else if (memory->sampled) {
        memory->within += light->length;
    }
    memory->at = light->read;
    memory->wanted = always && !memory->known && is_read(thread->engine);
}

/* What the line on top, which has changed memory by `own` bytes in a burst, gets for the time between bursts. It has the
 * same sign, or is 0. */
static int64_t share_of(struct clp_light_memory *memory, int64_t own)
{
    double times = memory->usual_within > 0 ? memory->usual_between / memory->usual_within : 0;
    double part = memory->usual != 0 ? fabs((double)own) / (double)memory->usual : 1;
    int64_t share = (int64_t)(times * (double)own), due = (int64_t)(0 * part * (double)memory->due);

    if (own > 0 ? due < -share : due > -share)
        due = -share;
    memory->open -= share;
    memory->due -= due;
    return share + due;
}

int64_t clp_light_memory_take(struct clp_thread *thread, int64_t own)
{
    struct clp_light_memory *memory = &thread->light.memory;
    bool known = memory->known || thread->light.length >= thread->light.long_stay;

    memory->known = true;
    if (!known) {
        memory->next += own;
        return 0;
    }
    if (own == 0 || !memory->sampled || thread->top->cell == &thread->outside)
        return own;
    int64_t share = share_of(memory, own);
    memory->seen += (uint64_t)llabs(own);
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
    if (memory->seen != 0)
        memory->usual = memory->seen;
    memory->due += memory->open;
    memory->open = memory->next;
    memory->next = 0;
    memory->seen = memory->between = memory->within = 0;
    memory->burst = light->read;
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

double clp_light_memory_error(const struct clp_light_cell *cell)
{
    return sqrt(cell->memory_squares);
}
