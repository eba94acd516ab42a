/* SPDX-License-Identifier: MIT */
#include "watch.h"

static void note_crossing(struct clp_watch *watch, const struct clp_thread *thread)
{
    bool outside = thread->top == thread->stack;

    watch->crossed = true;
    watch->found = thread->engine->rss;
    watch->line = clp_engine_current_line(thread);
    watch->function =
        outside ? NULL : &thread->engine->functions.items[thread->top->block->function];
}

void clp_watch_read(struct clp_watch *watch, const struct clp_thread *thread, uint64_t now)
{
    if (watch->look != NULL && __atomic_exchange_n(&watch->wanted, 0, __ATOMIC_RELAXED) != 0)
        watch->look(watch->look_data, thread->engine, now);
    if (watch->stop != NULL && !watch->crossed && thread->engine->rss > watch->limit)
        note_crossing(watch, thread);
}

bool clp_watch_recorded(struct clp_watch *watch)
{
    void (*stop)(void *data, const struct clp_watch *watch) = watch->stop;

    if (!watch->crossed || stop == NULL)
        return false;
    watch->stop = NULL; /* only once; and what it runs may have events of its own */
    stop(watch->stop_data, watch);
    return true;
}
