/* SPDX-License-Identifier: MIT */
/* What the counters come to at this moment, although bodies are running. The threads in which bodies run are
 * copied, with the blocks that these bodies count in. In the copy, every running body ends now. The engine
 * itself does not change. */
#ifndef CLP_ENGINE_COPY_H
#define CLP_ENGINE_COPY_H

#include "engine_state.h"
#include "base/status.h"

struct clp_engine_copy_calls {
    struct clp_area area;
    size_t count;
    _Alignas(64) struct clp_call items[];
};

struct clp_engine_copy_thread {
    const struct clp_thread *from;
    struct clp_thread *copy; /* has blocks of the functions that run, and no others */
    /* What the calls that run add to their nodes, the outermost first: `home` is the node itself. */
    struct clp_engine_copy_calls *calls;
};

struct clp_engine_copy {
    const struct clp_engine *from; /* borrowed */
    struct clp_pool *pool;         /* borrowed: gives the copies their memory */
    struct clp_engine engine;      /* has the copied threads */
    struct clp_engine_copy_thread *threads; /* those in which something runs, in the engine's order */
    size_t count, room;
    const uint32_t *group; /* borrowed: only threads of this group are merged; NULL: all are */
};

/* Makes the copy. It is valid until the engine's next event, and must not move in memory. Until it is cleared,
 * nobody else may use the pool. After CLP_NO_MEMORY there is nothing to clear. */
clp_status clp_engine_copy_init(struct clp_engine_copy *copy, const struct clp_engine *engine,
                                struct clp_pool *pool, uint64_t now);
void clp_engine_copy_clear(struct clp_engine_copy *copy);

/* Adds the function's counters of all threads, running bodies included, to `sum`, a block of that function. */
void clp_engine_copy_merge(const struct clp_engine_copy *copy, struct clp_block *sum);

/* The counts of the function's nodes at this moment, running calls included, as an area of the pool. NULL: no
 * memory. */
struct clp_call_sums *clp_engine_copy_calls(const struct clp_engine_copy *copy, uint32_t function,
                                            struct clp_pool *pool);

#endif
