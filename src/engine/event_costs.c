/* SPDX-License-Identifier: MIT */
#include "event_costs.h"

void clp_engine_begin_costs(struct clp_thread *thread)
{
    const struct clp_costs *costs = &thread->engine->costs;

    thread->line_cost = costs->line;
    thread->enter = costs->enter;
    thread->leave = costs->leave;
    thread->suspend = costs->suspend;
    thread->resume = costs->resume;
    thread->last_line = (struct clp_cost){-(costs->line + costs->work), costs->last_line + costs->work};
    thread->line_ticks = clp_engine_whole_ticks(costs->line);
    thread->leave_ticks = clp_engine_whole_ticks(costs->line + costs->leave.before);
    thread->suspend_ticks = clp_engine_whole_ticks(costs->line + costs->suspend.before);
}

void clp_engine_set_costs(struct clp_engine *engine, const struct clp_costs *costs)
{
    engine->costs = *costs;
    for (struct clp_thread *thread = engine->threads; thread != NULL; thread = thread->next)
        clp_engine_begin_costs(thread);
}
