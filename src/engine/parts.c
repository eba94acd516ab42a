/* SPDX-License-Identifier: MIT */
#include "parts.h"
#include <string.h>

static void move_activations(struct clp_thread *thread, const struct clp_block *from,
                             struct clp_block *into)
{
    for (struct clp_activation *at = thread->stack + 1; at <= thread->top; at++) {
        if (at->block != from)
            continue;
        if (at->cell != &thread->outside)
            at->cell = into->cells + (at->cell - from->cells);
        at->block = into;
    }
}

static bool add_to(struct clp_thread *thread, uint32_t parts)
{
    struct clp_pool *pool = &thread->engine->pool;

    __atomic_store_n(&thread->tensors.sent, NULL, __ATOMIC_RELAXED); /* it is in one of the blocks that go */
    for (uint32_t i = 0; i < thread->block_room; i++) {
        struct clp_block *old = thread->blocks[i], *block;
        if (old == NULL || (old->parts & parts) == parts)
            continue;
        block = clp_block_new(pool, &thread->engine->functions.items[i], i, old->parts | parts);
        if (block == NULL)
            return false;
        clp_block_merge(block, old);
        /* merging leaves out `open`, which bodies that run need */
        memcpy(block->cells, old->cells, old->line_count * sizeof *old->cells);
        block->running = old->running;
        block->latest = old->latest;
        move_activations(thread, old, block);
        thread->blocks[i] = block;
        clp_block_free(pool, old);
    }
    thread->calling_count = 0; /* calls that run count in blocks that are gone */
    return true;
}

static bool make_tensors(struct clp_engine *engine)
{
    struct clp_tensors_outside *made = clp_pool_take(&engine->pool, sizeof *made);

    if (made == NULL)
        return false;
    clp_area_set_kind(&made->area, CLP_AREA_TENSORS);
    __atomic_store_n(&engine->tensors, made, __ATOMIC_RELEASE);
    return true;
}

bool clp_engine_add_parts(struct clp_engine *engine, uint32_t parts)
{
    bool done = true;

    if ((engine->parts & parts) == parts)
        return true;
    if ((parts & CLP_PART_DEVICES) != 0 && engine->tensors == NULL && !make_tensors(engine))
        return false;
    for (struct clp_thread *ended = engine->ended; ended != NULL && done; ended = ended->next)
        done = add_to(ended, parts);
    for (struct clp_thread *thread = engine->threads; thread != NULL && done; thread = thread->next)
        done = add_to(thread, parts);
    if (done)
        engine->parts |= parts;
    return done;
}
