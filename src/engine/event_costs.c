/* SPDX-License-Identifier: MIT */
#include "event_costs.h"

/* How many intervals are timed at the start of each thread where not each event reads the clock. */
#define FIRST_INTERVALS 65536

static struct clp_cost times(struct clp_cost cost, int64_t rate)
{
    return (struct clp_cost){cost.before * rate / CLP_LIGHT_ONE, cost.after * rate / CLP_LIGHT_ONE};
}

/* Longest executions are known only where the clock goes as ever. */
static int64_t ticks_at(int64_t cost, uint32_t rate)
{
    return rate == CLP_LIGHT_ONE ? clp_engine_whole_ticks(cost) : INT64_MAX / 2;
}

static void set_costs_at(struct clp_thread *thread, uint32_t rate)
{
    const struct clp_costs *costs = &thread->engine->costs;
    int64_t line = costs->line + thread->light.line_cost; /* one of them is 0 */

    thread->line_cost = costs->line;
    thread->enter = times(costs->enter, rate);
    thread->leave = times(costs->leave, rate);
    thread->suspend = times(costs->suspend, rate);
    thread->resume = times(costs->resume, rate);
    thread->last_line = times((struct clp_cost){-(costs->line + costs->work), costs->last_line + costs->work}, rate);
    thread->line_ticks = ticks_at(line, rate);
    thread->leave_ticks = ticks_at(line + costs->leave.before, rate);
    thread->suspend_ticks = ticks_at(line + costs->suspend.before, rate);
}

void clp_engine_set_rate(struct clp_thread *thread, uint32_t rate)
{
    thread->light.rate = rate;
    set_costs_at(thread, rate);
}

static void set_kinds(int64_t *kinds, const struct clp_costs *costs)
{
    const int64_t found[CLP_LIGHT_KINDS] = {
        [CLP_LIGHT_LINE] = costs->line,
        [CLP_LIGHT_ENTER] = costs->line + costs->enter.before + costs->enter.after,
        [CLP_LIGHT_LAST_LINE] = costs->last_line,
        [CLP_LIGHT_LEAVE] = costs->leave.before + costs->leave.after,
        [CLP_LIGHT_SUSPEND] = costs->suspend.before + costs->suspend.after,
        [CLP_LIGHT_RESUME] = costs->resume.before + costs->resume.after,
    };

    for (int i = 0; i < CLP_LIGHT_KINDS; i++)
        kinds[i] = (int64_t)(clp_costs_ticks(costs, (double)found[i]) * CLP_CORRECTION_ONE);
}

/* Where not each event reads the clock, a line event is charged when it does, and not for each hit. */
static void charge_readings(struct clp_engine *engine)
{
    set_kinds(engine->light.costs.reading, &engine->costs);
    engine->light.line_cost = engine->costs.line;
    engine->costs.line = 0;
    engine->light.rest = FIRST_INTERVALS;
    for (struct clp_thread *thread = engine->threads; thread != NULL; thread = thread->next) {
        thread->light.line_cost = engine->light.line_cost;
        thread->light.rest = thread->light.set - thread->light.left + FIRST_INTERVALS;
    }
}

void clp_engine_set_costs(struct clp_engine *engine, const struct clp_costs *costs)
{
    engine->costs = *costs;
    if (engine->light.on)
        charge_readings(engine);
    for (struct clp_thread *thread = engine->threads; thread != NULL; thread = thread->next)
        set_costs_at(thread, engine->light.on ? thread->light.rate : CLP_LIGHT_ONE);
}

void clp_engine_begin_costs(struct clp_thread *thread)
{
    set_costs_at(thread, CLP_LIGHT_ONE);
}

void clp_engine_set_still_costs(struct clp_engine *engine, const struct clp_costs *costs)
{
    set_kinds(engine->light.costs.still, costs);
}
