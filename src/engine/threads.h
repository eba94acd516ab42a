/* SPDX-License-Identifier: MIT */
/* A thread's counters and its stack are made at its first event. Some time after the thread has ended, the
 * counters are merged into those of its group (reaping.h). */
#ifndef CLP_THREADS_H
#define CLP_THREADS_H

#include "event_costs.h"

/* Counters for a new thread, owned by the engine. NULL: no memory. `now` starts its clock; `rss` is the
 * resident size at that time (0 if memory is not measured). */
struct clp_thread *clp_engine_new_thread(struct clp_engine *engine, uint64_t now, int64_t rss);

/* Makes room for `room` activations on the thread's stack, the floor included. False: no memory, and the stack
 * is as it was. */
bool clp_engine_reserve(struct clp_thread *thread, size_t room);

/* The thread's counters for the function, made at its first entry. NULL: no memory. */
struct clp_block *clp_engine_block(struct clp_thread *thread, uint32_t function);

/* Has the thread counters for this function yet? The first entry makes them, which takes time. */
static inline bool clp_engine_has_block(const struct clp_thread *thread, uint32_t function)
{
    return function < thread->block_room && thread->blocks[function] != NULL;
}

/* Notes that memory ran out. Nothing more of the thread is recorded. */
static inline void clp_engine_lose(struct clp_thread *thread)
{
    thread->broken = true;
    thread->engine->lost = true;
}

/* Marks a thread that has ended in the system. It may be called in that thread, without the interpreter's lock.
 * The thread must not touch its counters afterwards. */
static inline void clp_engine_end_thread(struct clp_thread *thread)
{
    __atomic_store_n(&thread->ended, true, __ATOMIC_RELEASE);
}

/* Counters and a stack that belong to no running thread and are in no list. NULL: no memory. */
struct clp_thread *clp_engine_make_thread(struct clp_engine *engine);

void clp_engine_free_thread(struct clp_thread *thread);

/* Frees all threads and what they counted. Functions and records of suspended bodies stay. */
void clp_engine_clear_threads(struct clp_engine *engine);

/* Sums over all threads, ended ones included. */
struct clp_engine_totals {
    int64_t correction; /* 1/256 ticks */
    uint64_t stopped;   /* ticks */
    uint64_t reads;
    int64_t others_grown, others_released;
    struct clp_gc_cell gc_outside;
    struct clp_tensor_cell tensors_outside[CLP_DEVICES]; /* without peaks */
};

void clp_engine_sum(const struct clp_engine *engine, struct clp_engine_totals *totals);

/* Brings a thread that stands for another one to where that one is: its clock, its charges, and its memory at
 * the last line. */
static inline void clp_engine_copy_clock(struct clp_thread *into, const struct clp_thread *from)
{
    into->last = from->last;
    into->stopped = from->stopped;
    into->correction = from->correction;
    into->usage = from->usage;
}

#endif
