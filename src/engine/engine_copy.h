/* SPDX-License-Identifier: MIT */
/* What the counters come to at this moment, though bodies are running: their threads are copied, with the
 * blocks that they count in, and in the copy everything that runs ends now. The engine is left alone. */
#ifndef CLP_ENGINE_COPY_H
#define CLP_ENGINE_COPY_H

#include "engine_state.h"
#include "base/status.h"

struct clp_engine_copy_thread {
    const struct clp_thread *from;
    struct clp_thread *copy; /* has blocks of what was running, and no others */
};

struct clp_engine_copy {
    const struct clp_engine *from; /* borrowed */
    struct clp_pool *pool;         /* borrowed: gives the copies their memory */
    struct clp_engine engine;      /* the copies' */
    struct clp_engine_copy_thread *threads; /* in which something runs, in the engine's order */
    size_t count, room;
    const uint32_t *group; /* borrowed: only threads of this group are merged; NULL: all are */
};

/* Good until the engine's next event, and must not move. Until it is cleared the pool serves nobody
 * else. On CLP_NO_MEMORY there is nothing to be cleared. */
clp_status clp_engine_copy_init(struct clp_engine_copy *copy, const struct clp_engine *engine,
                                struct clp_pool *pool, uint64_t now);
void clp_engine_copy_clear(struct clp_engine_copy *copy);

/* Adds the counters of all threads to `sum`, a block of the function. */
void clp_engine_copy_merge(const struct clp_engine_copy *copy, struct clp_block *sum);

#endif
