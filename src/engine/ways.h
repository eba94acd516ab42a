/* SPDX-License-Identifier: MIT */
/* Hits from counters on some of the ways through a code object. A code object is a graph of nodes and ways between them; node
 * 0 stands for all that is not the body (rewrite/flow.h has made it). What flows into a node flows out of it:
 *
 *     node 0 --a--> 1 --b--> 2 --d--> 0        a, b and c have no counters, d and e have
 *                   1 --c--> 3 --e--> 0        b = d, c = e, a = b + c
 *
 * The ways are in such an order that each one without a counter is the only one of its kind that is left at one of its
 * nodes, and so follows from those before it. A body that runs has gone into a node and not out of it. So whoever settles
 * says in which nodes bodies run at that moment.
 *
 * A tracer raises the counters; nothing else is done for an event. Hits are only made of them when somebody wants to know
 * (clp_ways_settle). The counters lie in the engine's pool, so that a reader of a live file can settle them, too; then it is
 * not known which bodies ran, and the hits of each are right but for one.
 *
 * Protected as the engine is. */
#ifndef CLP_WAYS_H
#define CLP_WAYS_H

#include "engine_state.h"
#include "base/status.h"

#define CLP_WAY_DERIVED UINT32_MAX

enum {
    CLP_WAY_CALLS = 1,   /* each run of it is a call of the function */
    CLP_WAY_BY_FROM = 2, /* without a counter: its count follows from what flows in its node `from`; else in `to` */
};

struct clp_way_from_to {
    uint32_t from, to; /* nodes; the same: only the line counts, nothing flows */
    uint32_t counter;  /* CLP_WAY_DERIVED: it has none */
    uint32_t cell;     /* of the line that begins by it, in the function's blocks; CLP_NO_CELL: none */
    uint32_t flags;
    uint32_t pad;
    uint64_t given;    /* as often its line has got hits for it */
};

/* The counters of many code objects stand side by side, so that a program of many short functions touches few cache lines for
 * them. Room is given once, from the start to the end; an area whose code objects are gone goes back to the pool. */
struct clp_way_counters {
    struct clp_area area;
    uint32_t room, used; /* counters: that fit, and that were given */
    uint32_t held;       /* by so many code objects */
    uint32_t pad;
    uint64_t items[];
};

/* The ways of one code object. */
struct clp_ways {
    struct clp_area area;
    struct clp_ways *next; /* in engine->ways */
    struct clp_ways *next_version; /* of the same function, in engine->ways_of */
    struct clp_way_counters *shared; /* where its counters stand */
    uint64_t *counters;
    uint32_t function; /* one that the engine does not have: what is counted is nobody's */
    uint32_t node_count, way_count, counter_count;
    uint32_t gone; /* not 0: the code object is gone; nothing is counted any more */
    uint32_t told_in;    /* not 0: the number of the table of live blocks that was told of calls .. */
    uint64_t told_calls; /* .. and of how many */
    struct clp_way_from_to items[];
};

/* By node, behind the ways: how many bodies ran there when somebody last looked. */
static inline uint32_t *clp_ways_ran(struct clp_ways *ways)
{
    return (uint32_t *)(ways->items + ways->way_count);
}

/* The bytes of the area. */
static inline size_t clp_ways_bytes(uint32_t nodes, uint32_t ways)
{
    return sizeof(struct clp_ways) + ways * sizeof(struct clp_way_from_to) + nodes * sizeof(uint32_t);
}

/* In this node of the code object a body runs. */
struct clp_ways_running {
    struct clp_ways *ways;
    uint32_t node;
};

/* Takes room for the ways of a code object of this function, which the caller fills in before anything is counted. NULL: no
 * memory. They belong to the engine. */
struct clp_ways *clp_ways_new(struct clp_engine *engine, uint32_t function, uint32_t nodes, uint32_t ways, uint32_t counters);

/* Says that these ways, which were nobody's, are this function's. */
void clp_ways_begin(struct clp_engine *engine, struct clp_ways *ways, uint32_t function);

/* Gives what was counted since the last time to the lines of this function, or of all functions (NULL), in blocks of this
 * thread. Bodies run at these places, in any order. CLP_NO_MEMORY: some lines have got nothing; they get it at the next
 * time. */
clp_status clp_ways_settle(struct clp_thread *thread, const uint32_t *function, struct clp_ways_running *running,
                           size_t count);

/* Does what clp_ways_settle does for all functions, where nobody knows which bodies run, as in the file of a process that has
 * ended: they are taken to be those of the last time. */
clp_status clp_ways_settle_last(struct clp_thread *thread);

/* How often the code object was called so far, and the line of a cell began. */
struct clp_ways_counts {
    uint64_t calls, hits;
};

/* Finds both. Bodies that run at the moment may be missing. CLP_NO_MEMORY: *counts is as before. */
clp_status clp_ways_count(const struct clp_engine *engine, const struct clp_ways *ways, uint32_t cell,
                          struct clp_ways_counts *counts);

/* Is anything counted of the function? */
bool clp_ways_has(const struct clp_engine *engine, uint32_t function);

/* Are there so many new ones that it is time to settle? Those of code objects that are gone are given back only then. */
bool clp_ways_pile_up(const struct clp_engine *engine);

#endif
