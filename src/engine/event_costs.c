/* SPDX-License-Identifier: MIT */
#include "event_costs.h"

/* How many intervals are timed at the start of each thread where not each event reads the clock. */
#define FIRST_INTERVALS 65536

/* Longest executions are known only where the clock is read. */
static int64_t ticks_if(bool timed, int64_t cost)
{
    return timed ? clp_engine_whole_ticks(cost) : INT64_MAX / 2;
}

void clp_engine_time(struct clp_thread *thread, bool timed)
{
    const struct clp_costs *costs = &thread->engine->costs;

    thread->light.timed = timed;
    thread->line_ticks = ticks_if(timed, costs->line);
    thread->leave_ticks = ticks_if(timed, costs->line + costs->leave.before);
    thread->suspend_ticks = ticks_if(timed, costs->line + costs->suspend.before);
}

void clp_engine_begin_costs(struct clp_thread *thread)
{
    const struct clp_costs *costs = &thread->engine->costs;

    thread->line_cost = costs->line;
    thread->enter = costs->enter;
    thread->leave = costs->leave;
    thread->suspend = costs->suspend;
    thread->resume = costs->resume;
    thread->last_line = (struct clp_cost){-(costs->line + costs->work), costs->last_line + costs->work};
    clp_engine_time(thread, true);
}

void clp_engine_set_costs(struct clp_engine *engine, const struct clp_costs *costs)
{
    engine->costs = *costs;
    if (engine->light.on)
        engine->light.first = FIRST_INTERVALS;
    for (struct clp_thread *thread = engine->threads; thread != NULL; thread = thread->next) {
        clp_engine_begin_costs(thread);
        thread->light.first = engine->light.first;
        thread->light.ticks = engine->light.ticks;
        thread->light.tick = CLP_LIGHT_READ_NEXT;
    }
}

static void set_kinds(int64_t *kinds, const struct clp_costs *costs)
{
    kinds[CLP_LIGHT_LINE] = costs->line;
    kinds[CLP_LIGHT_ENTER] = costs->line + costs->enter.before + costs->enter.after;
    kinds[CLP_LIGHT_LAST_LINE] = costs->last_line;
    kinds[CLP_LIGHT_LEAVE] = costs->leave.before + costs->leave.after;
    kinds[CLP_LIGHT_SUSPEND] = costs->suspend.before + costs->suspend.after;
    kinds[CLP_LIGHT_RESUME] = costs->resume.before + costs->resume.after;
}

void clp_engine_set_reading_costs(struct clp_engine *engine, const struct clp_costs *reading,
                                  const struct clp_costs *costs)
{
    int64_t *more = engine->light_costs.more, usual[CLP_LIGHT_KINDS];

    set_kinds(more, reading);
    set_kinds(usual, costs);
    for (int i = 0; i < CLP_LIGHT_KINDS; i++)
        more[i] = (int64_t)(clp_costs_ticks(reading, (double)more[i]) * CLP_CORRECTION_ONE) - usual[i];
}
