/* SPDX-License-Identifier: MIT */
/* What else may be done when resident memory has been read, which is the slow path of an event already:
 * looks at the stacks when another thread asks for one, and a stop when a size is exceeded. The recorder
 * has one or none. `wanted` is atomic; the rest has the interpreter's lock. */
#ifndef CLP_WATCH_H
#define CLP_WATCH_H

#include "engine/engine.h"

struct clp_watch {
    /* Called before the event is recorded, the interpreter's lock held, when `wanted` was set (by any
     * thread). NULL: never. */
    void (*look)(void *data, const struct clp_engine *engine, uint64_t now);
    void *look_data;
    uint32_t wanted;

    /* Called once, behind the first event that finds more than `limit` bytes; the engine is whole and
     * Python code may run. NULL: never. */
    void (*stop)(void *data, const struct clp_watch *watch);
    void *stop_data;
    int64_t limit, found; /* bytes */
    bool crossed;
    const struct clp_function *function; /* whose line exceeded it; NULL: none of a selected one */
    int32_t line;                        /* -1: before the first */
};

/* Resident memory was read for an event of the thread that is not recorded yet. */
void clp_watch_read(struct clp_watch *watch, const struct clp_thread *thread, uint64_t now);

/* The event is recorded. True when the watch did something that took time. */
bool clp_watch_recorded(struct clp_watch *watch);

/* From any thread: look at the stacks with the next event that is slow. */
static inline void clp_watch_ask(struct clp_watch *watch)
{
    __atomic_store_n(&watch->wanted, 1, __ATOMIC_RELAXED);
}

#endif
