/* SPDX-License-Identifier: MIT */
/* What is done beside a read of resident memory, where an event is slow anyway: look at the stacks when another
 * thread asks for that, and stop when a size is exceeded. The recorder has one watch or none. `wanted` is
 * atomic; the interpreter's lock protects the rest. */
#ifndef CLP_WATCH_H
#define CLP_WATCH_H

#include "engine/engine.h"

struct clp_watch {
    /* Called before the event is recorded, with the interpreter's lock, if any thread has set `wanted`. May be
     * NULL. */
    void (*look)(void *data, const struct clp_engine *engine, uint64_t now);
    void *look_data;
    uint32_t wanted;

    /* Called once, after the first event that finds more than `limit` bytes. The engine is complete then, and
     * Python code may run. May be NULL. */
    void (*stop)(void *data, const struct clp_watch *watch);
    void *stop_data;
    int64_t limit, found; /* bytes */
    bool crossed;
    const struct clp_function *function; /* whose line exceeded `limit`; NULL: no selected function's */
    int32_t line;                        /* the line of the file; -1: before the first */
};

/* Is there anything to do for clp_watch_read? */
static inline bool clp_watch_wants(const struct clp_watch *watch, const struct clp_thread *thread)
{
    return __atomic_load_n(&watch->wanted, __ATOMIC_RELAXED) != 0 ||
           (watch->stop != NULL && thread->engine->rss > watch->limit);
}

/* Call this when resident memory was read for an event of the thread, before the event is recorded. */
void clp_watch_read(struct clp_watch *watch, const struct clp_thread *thread, uint64_t now);

/* Call this after the event is recorded. True: the watch did something that took time. */
bool clp_watch_recorded(struct clp_watch *watch);

/* Asks, from any thread, for a look at the stacks with the next slow event. */
static inline void clp_watch_ask(struct clp_watch *watch)
{
    __atomic_store_n(&watch->wanted, 1, __ATOMIC_RELAXED);
}

#endif
