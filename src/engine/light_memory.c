/* SPDX-License-Identifier: MIT */
#include "light_memory.h"
#include "light_line.h"
#include "base/random.h"
#include <math.h>
#include <stdlib.h>

/* Intervals. Before those of a burst come up to as many at random that are timed, too. */
#define BURST 64
#define READS_IN_LONG_LINE 16
#define BURSTS_OF_LATE 8
/* A burst begins a millisecond after the last one, or a tenth of that while memory changes, but not before so many
 * lengths of the last one. */
#define SOONER 10
#define BURST_LENGTHS 4
/* What is so many times as large as usual is not usual: a change then is a long stay's own. A burst explains at most so many
 * times what has changed, and stands for so many times as many events as bursts usually do. */
#define LARGE 4
#define CHANGES_OF_LATE 16

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

    memory->sampled = light->timed && !light->times && memory->burst != 0 && light->first > 0 && light->first <= BURST;
    if (!light->timed) {
        memory->known = false;
        memory->between += thread->correction - memory->charged;
        memory->met = clp_light_cell_of_top(thread)->usual / 8;
    } else if (!light->times && !clp_light_is_long(light, light->length)) {
        memory->length += light->length;
    }
    memory->charged = thread->correction;
    memory->wanted = always && !memory->known && is_read(thread->engine);
}

static int64_t limited(int64_t bytes, int64_t most)
{
    return bytes > most ? most : bytes < -most ? -most : bytes;
}

/* What the line on top, which has changed memory by `own` bytes in a burst, gets for the time between bursts. It has the
 * same sign, or is 0. Where memory only grows, or only falls, a burst with one large change must not outweigh many. */
static int64_t share_of(struct clp_light_memory *memory, int64_t own)
{
    bool released = own < 0;
    double part = fmin(fabs((double)own) / fmax(memory->usual[released], 1), 1);
    int64_t share = (int64_t)(memory->times * (double)own), due = (int64_t)(part * (double)memory->due);

    if (memory->seen[!released] == 0 && memory->usual[!released] < 1)
        share = limited(share, LARGE * llabs(memory->open + memory->due));
    due = limited(due, llabs(share));
    memory->open -= share;
    memory->due -= due;
    return share + due;
}

/* Is the change so large beside those that ticks usually see that it must be the long stay's that ends? */
static bool is_of_stay(const struct clp_light *light, uint64_t bytes)
{
    return clp_light_is_long(light, light->length) && bytes / LARGE >= light->memory.most;
}

static void leave_open(struct clp_light_memory *memory, int64_t own, uint64_t bytes)
{
    memory->next += own;
    memory->changes = true;
    memory->most -= memory->most / CHANGES_OF_LATE;
    if (bytes > memory->most)
        memory->most = bytes;
}

int64_t clp_light_memory_take(struct clp_thread *thread, int64_t own)
{
    struct clp_light_memory *memory = &thread->light.memory;
    uint64_t bytes = (uint64_t)llabs(own);
    bool known = memory->known || is_of_stay(&thread->light, bytes);

    memory->known = true;
    if (own != 0 && !known) {
        leave_open(memory, own, bytes);
        return 0;
    }
    if (own == 0 || !memory->sampled || clp_light_is_long(&thread->light, thread->light.length))
        return own;
    int64_t share = share_of(memory, own);
    memory->seen[own < 0] += bytes;
    memory->shared += share;
    clp_light_cell_of_top(thread)->memory_squares += (double)share * (double)share;
    return own + share;
}

void clp_light_memory_forget(struct clp_thread *thread)
{
    struct clp_light_memory *memory = &thread->light.memory;

    memory->lost += memory->open + memory->next + memory->due;
    memory->open = memory->next = memory->due = 0;
    memory->known = true;
}

/* ---- bursts ---- */

static void average(double *usual, double latest)
{
    *usual += (latest - *usual) / (*usual < 1 ? 1 : BURSTS_OF_LATE);
}

/* Learns from the last burst. */
static void end_burst(struct clp_light_memory *memory)
{
    bool saw_change = memory->seen[0] + memory->seen[1] != 0;

    if (memory->within > 0)
        average(&memory->usual_within, (double)memory->within);
    if (memory->intervals > 0)
        average(&memory->usual_length, (double)memory->length / (double)memory->intervals);
    for (int i = 0; i < 2; i++) {
        if (saw_change)
            average(&memory->usual[i], (double)memory->seen[i]);
        memory->seen[i] = 0;
    }
}

static void begin_burst(struct clp_light *light)
{
    struct clp_light_memory *memory = &light->memory;

    end_burst(memory);
    average(&memory->usual_between, (double)memory->between);
    double between = fmin((double)memory->between, LARGE * memory->usual_between);
    memory->times = memory->usual_within > 0 ? between / memory->usual_within : 0;
    memory->due += memory->open;
    memory->open = memory->next;
    memory->next = 0;
    memory->between = memory->within = 0;
    memory->length = 0;
    memory->burst = light->read;
    memory->intervals = BURST + (int64_t)(clp_random_uniform(&memory->random) * BURST);
    if (light->first < memory->intervals)
        light->first = memory->intervals;
}

/* How many ticks must lie between two bursts. */
static uint64_t bursts_apart(const struct clp_light *light)
{
    uint64_t apart = light->memory.changed ? light->long_stay / SOONER : light->long_stay;
    uint64_t lengths = BURST_LENGTHS * light->memory.length;

    return lengths > apart ? lengths : apart;
}

/* Is the interval that the tick has met one of those behind which a burst may begin? A tick meets a line the more often, the
 * longer it lasts. Bursts begin as often behind a long line as behind a short one. */
static bool is_chosen(struct clp_light_memory *memory)
{
    return clp_random_uniform(&memory->random) * (double)memory->met <= memory->usual_length || memory->usual_length == 0;
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
    if (light->read - memory->burst >= bursts_apart(light) && is_chosen(memory))
        begin_burst(light);
    memory->changed = memory->changes;
    memory->changes = false;
}

double clp_light_memory_error(const struct clp_light_cell *cell)
{
    return sqrt(cell->memory_squares);
}
