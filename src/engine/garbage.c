/* SPDX-License-Identifier: MIT */
#include "garbage.h"
#include "waiting.h"

/* The self time of the cell on top, with the interval that has not ended. */
static uint64_t self_until(const struct clp_thread *thread, uint64_t now)
{
    return thread->top->cell->self + clp_engine_since_last(thread, now);
}

static size_t depth_of(const struct clp_thread *thread)
{
    return (size_t)(thread->top - thread->stack);
}

void clp_garbage_begin(struct clp_engine *engine, struct clp_thread *thread, uint64_t now)
{
    struct clp_collection *collection = &engine->collection;

    *collection = (struct clp_collection){.running = true, .thread = thread, .start = now};
    if (thread == NULL)
        return;
    collection->depth = depth_of(thread);
    collection->cell = thread->top->cell;
    collection->self = self_until(thread, now);
    const struct clp_cpu_cell *cpu = clp_waiting_of_top(thread);
    if (cpu == NULL)
        return;
    collection->wait = cpu->wait;
    collection->queue = cpu->queue;
}

/* Is the line on top that was on top when the collection began? It is not where a finalizer has ended the recording or
 * has switched to another greenlet. */
static bool is_where_it_began(const struct clp_collection *collection)
{
    const struct clp_thread *thread = collection->thread;

    return thread != NULL && depth_of(thread) == collection->depth && thread->top->cell == collection->cell;
}

/* Where the collections are counted of the line on top, or of no line. */
static struct clp_gc_cell *place_of(struct clp_thread *thread)
{
    if (thread->top->cell != &thread->outside)
        return clp_garbage_of_top(thread);
    return thread->top == thread->stack ? &thread->gc_outside : &thread->gc_early;
}

/* Gives the line on top what it has waited in the collection. */
static void take_waiting(const struct clp_collection *collection, const struct clp_thread *thread)
{
    struct clp_cpu_cell *cpu = clp_waiting_of_top(thread);

    if (cpu == NULL)
        return;
    cpu->gc_wait += cpu->wait - collection->wait;
    cpu->gc_queue += cpu->queue - collection->queue;
}

void clp_garbage_end(struct clp_engine *engine, uint64_t now)
{
    const struct clp_collection collection = engine->collection;
    struct clp_thread *thread = collection.thread != NULL ? collection.thread : engine->threads;

    engine->collection.running = false;
    if (!collection.running)
        return;
    if (is_where_it_began(&collection)) {
        clp_gc_add(place_of(thread), (struct clp_gc_cell){self_until(thread, now) - collection.self, 1});
        take_waiting(&collection, thread);
    } else {
        clp_gc_add(thread != NULL ? &thread->gc_outside : &engine->gc_before,
                   (struct clp_gc_cell){now - collection.start, 1});
    }
}
