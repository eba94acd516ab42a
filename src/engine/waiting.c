/* SPDX-License-Identifier: MIT */
#include "waiting.h"

void clp_engine_set_cpu_span(struct clp_engine *engine, uint64_t ticks, uint64_t noise)
{
    engine->cpu_span = ticks;
    engine->wait_noise = noise;
    clp_engine_spread_spans(engine);
    for (struct clp_thread *thread = engine->threads; thread != NULL; thread = thread->next)
        thread->waiting = (struct clp_waiting){0};
}

/* Takes from what is open the part that the interval on top gets. A read is not exact, so a little waiting, or a
 * little too much processor time, stays open. Then the errors of many reads cancel out. */
static uint64_t take_open(struct clp_thread *thread, uint64_t at)
{
    int64_t noise = (int64_t)thread->engine->wait_noise, open = thread->waiting.open;
    int64_t interval = (int64_t)clp_engine_since_last(thread, at);

    thread->waiting.open = open < -noise ? -noise : open;
    if (open <= noise)
        return 0;
    thread->waiting.open = 0;
    return (uint64_t)(open < interval ? open : interval);
}

void clp_waiting_skip(struct clp_thread *thread, uint64_t at, uint64_t used)
{
    thread->waiting.at = at;
    thread->waiting.used = used;
}

uint64_t clp_waiting_note(struct clp_thread *thread, uint64_t at, uint64_t used)
{
    struct clp_waiting *waiting = &thread->waiting;
    bool first = waiting->at == 0;

    if (!first)
        waiting->open += (int64_t)(at - waiting->at) - (int64_t)(used - waiting->used);
    clp_waiting_skip(thread, at, used);
    uint64_t waited = take_open(thread, at);
    struct clp_cpu_cell *cell = clp_waiting_of_top(thread);
    if (cell != NULL)
        cell->wait += waited;
    return waited;
}

void clp_waiting_note_queue(struct clp_thread *thread, uint64_t queued, uint64_t waited)
{
    struct clp_cpu_cell *cell = clp_waiting_of_top(thread);
    uint64_t more = queued - thread->waiting.queued;

    thread->waiting.queued = queued;
    if (cell != NULL)
        cell->queue += more < waited ? more : waited;
}
