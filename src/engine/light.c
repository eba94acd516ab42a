/* SPDX-License-Identifier: MIT */
#include "light.h"
#include "event_costs.h"
#include "light_memory.h"
#include <math.h>

#define FEW 8 /* intervals of a line that are timed in any case */
#define LONG_LINE 2 /* microseconds */
#define LONG_STAY 1000 /* microseconds; longer than what lies between two ticks */

void clp_light_turn_on(struct clp_engine *engine, const struct clp_light_ticks *ticks, uint64_t ticks_per_microsecond)
{
    engine->light = (struct clp_light){
        .on = 1,
        .ticks = ticks,
        .timed = true,
        .first = INT64_MAX / 2, /* the costs of events are measured meanwhile */
        .long_line = LONG_LINE * ticks_per_microsecond,
        .long_stay = LONG_STAY * ticks_per_microsecond,
    };
    engine->parts |= CLP_PART_LIGHT;
}

void clp_light_begin(struct clp_thread *thread, uint64_t now)
{
    thread->light.read = now;
    thread->light.memory.random = now | 1;
    thread->light.last = thread->last;
}

/* ---- the thread's own clock ---- */

/* How much of the time since the tick before lies before the last tick, and counts for the line that it meets; 0 if there
 * was none since the last reading. What lies behind the tick is left for the next one. `piece` ticks have passed since
 * the last reading, and are not in it yet. */
static uint64_t met_by_tick(struct clp_light *light, uint64_t now, uint64_t piece)
{
    uint64_t tick = clp_light_last_tick(light);
    uint64_t behind = now - tick;

    light->open += piece;
    if (tick == light->seen)
        return 0;
    light->seen = tick;
    if (behind > piece) /* the clocks of two processors */
        behind = (int64_t)behind < 0 ? 0 : piece;
    uint64_t met = light->open - behind;
    light->open = behind;
    return met;
}

void clp_light_settle_light(struct clp_thread *thread, uint64_t now)
{
    struct clp_light *light = &thread->light;
    uint64_t piece = now - light->read;

    if ((int64_t)piece <= 0)
        return;
    if (light->last != thread->last) {
        light->last = thread->last;
        light->length = 0;
    }
    uint64_t own = light->timed ? piece : met_by_tick(light, now, piece);
    light->length += own;
    thread->stopped += piece - own;
    light->read = now;
}

/* ---- events ---- */

/* How far what a tick gave a line may be off: a stay of several ticks is known but for its ends. */
static double unknown_part(const struct clp_light *light)
{
    uint64_t apart = __atomic_load_n(&light->ticks->apart, __ATOMIC_RELAXED);

    return (double)(light->length < apart ? light->length : apart);
}

/* Notes the interval that ends. */
static void learn(struct clp_thread *thread)
{
    const struct clp_light *light = &thread->light;
    struct clp_light_cell *cell = clp_light_cell_of_top(thread);

    if (light->timed) {
        cell->timed++;
        cell->usual += (uint32_t)light->length - cell->usual / 8;
    } else {
        cell->squares += unknown_part(light) * unknown_part(light);
    }
}

/* May the pace be looked at? What such a look disturbs must be little beside the interval. */
static bool may_look_at_pace(const struct clp_thread *thread, uint64_t now)
{
    const struct clp_engine *engine = thread->engine;

    return now >= engine->pace_next && (!thread->light.timed || thread->light.length >= engine->pace_span);
}

void clp_light_read(struct clp_thread *thread, bool always, uint64_t now)
{
    struct clp_light *light = &thread->light;

    clp_light_settle_light(thread, now);
    clp_light_memory_begin_event(thread, always);
    light->long_enough = light->length >= clp_engine_least_span(thread->engine) || light->memory.wanted ||
                         thread->unhooked || may_look_at_pace(thread, now);
    light->reads = true;
    light->times = always;
    learn(thread);
}

static bool times_always(struct clp_thread *thread)
{
    struct clp_light_cell *cell = clp_light_cell_of_top(thread);
    uint64_t least = clp_light_memory_long_line(thread);

    cell->is_long = cell->usual / 8 >= (cell->is_long ? least / 2 : least);
    return cell->timed < FEW || cell->is_long;
}

bool clp_light_go_on(struct clp_thread *thread, enum clp_light_kind kind)
{
    struct clp_light *light = &thread->light;

    light->wants = light->reads = false;
    light->first -= light->first > 0;
    clp_light_memory_end_event(thread);
    light->length = 0; /* also where nobody counted the event, so that no interval ended */
    uint64_t tick = clp_light_last_tick(light);
    clp_engine_time(thread, light->times || light->first > 0 || tick == CLP_LIGHT_NO_TICKS);
    clp_engine_add_cost(thread, thread->engine->light_costs.more[kind]);
    light->memory.charged = thread->correction;
    light->tick = light->timed ? CLP_LIGHT_READ_NEXT : tick;
    return times_always(thread);
}

void clp_light_time_rest(struct clp_thread *thread, uint64_t now)
{
    struct clp_light *light = &thread->light;

    if (!light->on)
        return;
    if (light->reads) {
        light->times = true;
        clp_light_end_event(thread, now);
    } else {
        clp_light_settle_light(thread, now);
        clp_light_memory_begin_event(thread, false);
        learn(thread);
    }
    clp_light_read_next(thread);
    clp_engine_time(thread, true);
}

/* ---- events that read no clock ---- */

void clp_light_stay_still(struct clp_thread *thread)
{
    static const struct clp_light_ticks still = {.last = CLP_LIGHT_READ_NEXT + 1};

    thread->light.ticks = &still;
    thread->light.tick = thread->light.seen = still.last;
    thread->light.first = 0;
    clp_engine_time(thread, false);
}

/* ---- errors ---- */

/* Ticks come at random, so a line that is met by n of them counts n +- sqrt(n) times what lies between two. A line that
 * none has met lacks the executions that were not timed. They may have lasted as long as the others. */
double clp_light_error(const struct clp_light_cell *cell, uint64_t hits)
{
    if (cell->squares > 0 || hits <= cell->timed)
        return sqrt(cell->squares);
    return (double)(hits - cell->timed) * cell->usual / 8;
}
