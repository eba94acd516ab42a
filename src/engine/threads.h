/* SPDX-License-Identifier: MIT */
/* A thread's counters and its stack: made at its first event, kept by group when it has ended (reaping.h). */
#ifndef CLP_THREADS_H
#define CLP_THREADS_H

#include "engine_state.h"

/* What events cost; to be said before the first one. Zero until this is called. */
void clp_engine_set_costs(struct clp_engine *engine, const struct clp_costs *costs);

/* Counters for a new thread, owned by the engine; NULL when there is no memory. `now` starts its
 * clock, `rss` is the resident size then (0 without memory). */
struct clp_thread *clp_engine_new_thread(struct clp_engine *engine, uint64_t now, int64_t rss);

/* Makes the thread's stack hold `room` activations, the floor among them. False: no memory, and all
 * is as it was. */
bool clp_engine_reserve(struct clp_thread *thread, size_t room);

/* The thread's counters for the function, made at its first entry; NULL: no memory. */
struct clp_block *clp_engine_block(struct clp_thread *thread, uint32_t function);

/* Has the thread counters for this function yet? The first entry makes them, which takes time. */
static inline bool clp_engine_has_block(const struct clp_thread *thread, uint32_t function)
{
    return function < thread->block_room && thread->blocks[function] != NULL;
}

/* There is no memory: nothing more of the thread is recorded. */
static inline void clp_engine_lose(struct clp_thread *thread)
{
    thread->broken = true;
    thread->engine->lost = true;
}

/* The system's thread is gone. May be called in it, without the interpreter's lock; it must not touch
 * its counters any more. */
static inline void clp_engine_end_thread(struct clp_thread *thread)
{
    __atomic_store_n(&thread->ended, true, __ATOMIC_RELEASE);
}

/* Counters and a stack that are no running thread's, in no list; NULL: no memory. */
struct clp_thread *clp_engine_make_thread(struct clp_engine *engine);

void clp_engine_free_thread(struct clp_thread *thread);

/* Frees all threads and what they counted; functions and records of suspended bodies stay. */
void clp_engine_clear_threads(struct clp_engine *engine);

/* Sums over all threads, those that have ended too. */
struct clp_engine_totals {
    int64_t correction; /* 1/256 ticks */
    uint64_t stopped;   /* ticks */
    uint64_t reads;
    int64_t others_grown, others_released;
};

void clp_engine_sum(const struct clp_engine *engine, struct clp_engine_totals *totals);

/* What a damaged live file says of many threads may not fit into a sum: it is wrong then, and no more. */
static inline void clp_engine_add_total(int64_t *sum, int64_t value)
{
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)value);
}

/* For a thread that stands for another one: how far its time, what is taken off it, and its memory at
 * the last line have come. */
static inline void clp_engine_copy_clock(struct clp_thread *into, const struct clp_thread *from)
{
    into->last = from->last;
    into->stopped = from->stopped;
    into->correction = from->correction;
    into->usage = from->usage;
}

#endif
