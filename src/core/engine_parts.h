/* SPDX-License-Identifier: MIT */
/* What the rooms of engine.h ask of one another; for nobody else.
 *
 *   engine.c      events: what an activation does to its line, its caller's and the stack
 *   threads.c     counters and stacks of threads, made, merged and freed
 *   resident.c    resident memory: whose a change is
 *   suspended.c   bodies and whole stacks that are in no thread just now */
#ifndef CLP_ENGINE_PARTS_H
#define CLP_ENGINE_PARTS_H

#include "engine.h"

/* A body that is suspended, and where. */
struct clp_suspended {
    struct clp_suspended *next_free;
    const void *frame; /* the body's; NULL while the record is free */
    uint32_t function;
    uint32_t line;
    bool on_line;     /* had its first line begun? */
    int32_t before;   /* as the activation's */
    uint64_t carried; /* ticks of the line's execution so far */
    uint64_t since;   /* the clock itself: it may resume in a thread with another standstill */
};

/* What an execution was charged, for its largest time: nobody is given anything there. */
static inline int64_t clp_engine_whole_ticks(int64_t correction)
{
    return correction > 0 ? correction / CLP_CORRECTION_ONE : 0;
}

/* ---- engine.c ---- */

/* Takes the body on top off the stack as if it were suspended; what it has counted is complete
 * then. False: there is none. */
bool clp_engine_take_down(struct clp_thread *thread, struct clp_suspended *place, uint64_t now);

/* Puts a body on top that goes on at its line. NULL: not recorded. */
struct clp_activation *clp_engine_put_back(struct clp_thread *thread,
                                           const struct clp_suspended *place, uint64_t now);

/* ---- threads.c ---- */

/* The thread's counters for the function, made at its first entry; NULL: no memory. */
struct clp_block *clp_engine_block(struct clp_thread *thread, uint32_t function);

/* There is no memory: nothing more of the thread is recorded. */
static inline void clp_engine_lose(struct clp_thread *thread)
{
    thread->broken = true;
    thread->engine->lost = true;
}

/* ---- resident.c ---- */

/* A thread is new while the process is so large. */
void clp_engine_begin_rss(struct clp_thread *thread, int64_t rss);

/* ---- suspended.c ---- */

/* A record under this address, for the caller to fill; NULL: no memory. */
struct clp_suspended *clp_suspended_new(struct clp_engine *engine, const void *frame);

/* NULL: there is none. */
struct clp_suspended *clp_suspended_find(const struct clp_engine *engine, const void *frame);

/* The body has ended, or has long been gone. */
void clp_suspended_forget(struct clp_engine *engine, const void *frame);

void clp_suspended_clear(struct clp_engine *engine);

#endif
