/* SPDX-License-Identifier: MIT */
/* The tree of calls: which function was called from which line, and what that took, apart for each way that led
 * there. A node stands for a calling context: a selected function, called from one line of another context.
 *
 *   root of a group of threads
 *     main                       called by no selected function
 *       main, line 7 -> load
 *       main, line 8 -> fit
 *         fit, line 3 -> fit     recursion: a leaf; what it calls is counted below the `fit` above it
 *         fit, line 4 -> dot
 *
 * Recursion is folded: no function stands twice on the way from the root to a node, except as a leaf whose
 * `home` is the node above that has the function. So the tree is finite, and an edge (line -> callee) has exactly
 * the sum of its nodes. All threads share the tree; their events take turns.
 *
 * The nodes lie in areas of the pool. They are only appended, and an area's count is raised last, so that a
 * reader of the live file always finds whole nodes, parents before children.
 *
 * A node's children form a ring. The next call usually goes to the child that was called last, or to the one
 * behind it in the ring; nothing else is tried before the hash map. */
#ifndef CLP_CALL_TREE_H
#define CLP_CALL_TREE_H

#include "base/hashmap.h"
#include "lines.h"

#define CLP_CALLS_MOST 100000 /* nodes; further contexts are counted together in the node `deeper` */

#define CLP_CALL_NO_FUNCTION UINT32_MAX /* the callee of a root and of `deeper` */

/* What belongs to a node, or to its function: ticks as the clock saw them, corrections in 1/256 ticks. */
struct clp_call_counts {
    uint64_t calls;     /* bodies that began; resumptions add time only */
    uint64_t ticks;     /* inclusive, for executions outside another execution of the same edge in the thread */
    int64_t correction; /* of `ticks` */
    uint64_t again;     /* ticks of the other executions */
    int64_t again_correction;
    int64_t increment;  /* change of resident memory in bytes during `ticks` */
};

struct clp_call {
    struct clp_call *latest; /* the child that was called last */
    struct clp_call *next;   /* the next child of the same parent, in a ring */
    struct clp_call *home;   /* the node below which the body's own calls are counted: this one, or one above */
    size_t place;            /* of the calling line's cell in the caller's block (lines.h); 0: no line */
    uint32_t function;       /* the callee */
    uint32_t id;             /* ascending; of a parent less than of its children */
    struct clp_call_counts counts;
    struct clp_call *parent; /* NULL for a root and for `deeper` */
    struct clp_call *of_same; /* an older node of the same callee */
    uint32_t parent_id;      /* for a reader of the file; 0: a root or `deeper` */
    uint32_t group;          /* of a root: the group of threads */
    bool through;            /* the callee was reached through code that is not selected, at its first call */
    char pad[15];            /* a node fills two cache lines */
};

/* Where nodes lie in the pool. */
struct clp_call_area {
    struct clp_area area;
    struct clp_call_area *next;
    uint32_t room;
    uint32_t count; /* complete nodes; written last */
    _Alignas(64) struct clp_call items[];
};

struct clp_calls {
    struct clp_mem *mem;   /* borrowed */
    struct clp_pool *pool; /* borrowed */
    struct clp_call_area *first, *last;
    uint32_t count;
    struct clp_hashmap index;     /* parent, line and callee -> the node's address */
    struct clp_call **of_function; /* by callee: its newest node */
    size_t room;
    struct clp_call start;   /* what a thread's floor has before its first call; its own `latest` and `next` */
    struct clp_call *deeper; /* takes what finds no room */
    struct clp_call *fresh;  /* the newest node, until somebody has set its `through` and set this to NULL */
};

/* Borrows the pool, which must not move in memory; nor may *calls. */
void clp_calls_init(struct clp_calls *calls, struct clp_mem *mem, struct clp_pool *pool);

/* Forgets all nodes. Clear the pool afterwards. */
void clp_calls_clear(struct clp_calls *calls);

/* The child of `from` for this line and callee, if it is the one that was called last or the next; else NULL. */
static inline struct clp_call *clp_calls_known(struct clp_call *from, size_t place, uint32_t function)
{
    struct clp_call *call = from->latest;

    if (call->place == place && call->function == function)
        return call;
    call = call->next;
    if (call->place != place || call->function != function)
        return NULL;
    from->latest = call;
    return call;
}

/* The same among the first few children of the ring; NULL: it may be a later one, or none yet. */
struct clp_call *clp_calls_search(struct clp_call *from, size_t place, uint32_t function)
    __attribute__((cold));

/* The child of `from` for this line and callee, made if need be; `deeper` where there is no room. */
struct clp_call *clp_calls_find(struct clp_calls *calls, struct clp_call *from, size_t place,
                                uint32_t function);

/* The root for a group of threads, made if need be; `deeper` where there is no room. */
struct clp_call *clp_calls_root(struct clp_calls *calls, uint32_t group);

/* The newest node whose callee this is; call->of_same leads to the others. NULL: there is none. */
struct clp_call *clp_calls_of(const struct clp_calls *calls, uint32_t function);

/* The group of threads that the node's root is for. */
uint32_t clp_call_group(const struct clp_call *call);

void clp_call_counts_add(struct clp_call_counts *into, const struct clp_call_counts *from);
void clp_call_counts_subtract(struct clp_call_counts *from, const struct clp_call_counts *base);

/* The counts of all nodes of one callee. */
struct clp_call_sums {
    struct clp_area area;
    uint32_t function;
    uint32_t count;
    struct clp_call_sum {
        struct clp_call *call; /* in a live file a reader uses `id` */
        uint64_t id;
        struct clp_call_counts counts;
    } items[]; /* by descending id */
};

/* The function's nodes with counts of 0, from the pool, as an area of this kind. NULL: no memory. */
struct clp_call_sums *clp_call_sums_new(const struct clp_calls *calls, uint32_t function,
                                        struct clp_pool *pool);

/* Adds (or subtracts) the counts of `other`, of the same function, whose nodes must all be in `sums`. */
void clp_call_sums_add(struct clp_call_sums *sums, const struct clp_call_sums *other);
void clp_call_sums_subtract(struct clp_call_sums *sums, const struct clp_call_sums *other);

/* The sum of the node; NULL where it is not in `sums`, which may be NULL. */
struct clp_call_sum *clp_call_sums_find(struct clp_call_sums *sums, uint64_t id);

#endif
