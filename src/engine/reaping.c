/* SPDX-License-Identifier: MIT */
#include "reaping.h"
#include "engine.h"
#include "threads.h"

struct clp_thread *clp_engine_ended_of(struct clp_engine *engine, uint32_t group)
{
    struct clp_thread *ended = engine->ended;

    while (ended != NULL && ended->group != group)
        ended = ended->next;
    if (ended != NULL || (ended = clp_engine_make_thread(engine)) == NULL)
        return ended;
    ended->group = group;
    ended->next = engine->ended;
    engine->ended = ended;
    return ended;
}

/* Moves the thread's blocks into the group's. False: no memory; the other blocks stay in their thread. */
static bool merge_blocks(struct clp_thread *into, struct clp_thread *from)
{
    for (uint32_t i = 0; i < from->block_room; i++) {
        struct clp_block *block;
        if (from->blocks[i] == NULL)
            continue;
        if ((block = clp_engine_block(into, i)) == NULL)
            return false;
        clp_block_merge(block, from->blocks[i]);
        clp_block_free(&from->engine->pool, from->blocks[i]);
        from->blocks[i] = NULL;
    }
    return true;
}

void clp_engine_reap(struct clp_engine *engine)
{
    struct clp_thread **link = &engine->threads;

    while (*link != NULL) {
        struct clp_thread *thread = *link;
        if (!__atomic_load_n(&thread->ended, __ATOMIC_ACQUIRE)) {
            link = &thread->next;
            continue;
        }
        struct clp_thread *into = clp_engine_ended_of(engine, thread->group);
        if (into == NULL)
            return; /* the thread stays in the list; nothing is lost */
        clp_engine_unwind(thread, thread->last + thread->stopped);
        if (!merge_blocks(into, thread))
            return;
        into->correction += thread->correction;
        into->stopped += thread->stopped;
        into->reads += thread->reads;
        into->others_grown += thread->others_grown;
        into->others_released += thread->others_released;
        clp_gc_add(&into->gc_outside, thread->gc_outside);
        *link = thread->next;
        clp_engine_free_thread(thread);
    }
}
