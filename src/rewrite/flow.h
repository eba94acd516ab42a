/* SPDX-License-Identifier: MIT */
/* The flow graph of a code object, and which of its ways need counters. What flows into a node flows out of it. So
 * counters are needed only on the ways that a spanning tree leaves out; the counts of all others follow (Knuth and
 * Stevenson, "Optimal measurement points for program frequency counts", 1973; Ball and Larus, "Optimally profiling and
 * tracing programs", 1994). The tree takes the ways that are run most, as far as loops tell that.
 *
 *     for x in a:      line 1          node        way             counter
 *         b(x)         line 2          outside     enters 1
 *     return x         line 3          1 (iter)    1 -> loop
 *                                      loop        loop -> 2       yes
 *                                      2           2 -> loop                   as often as loop -> 2
 *                                      3           loop -> 3
 *                                                  3 -> outside    yes
 *                                                  and from each node outside, by an exception: counted where it is caught
 *
 * A node is a run of instructions that is entered at its first one. Where a line begins, a node begins. CLP_FLOW_OUTSIDE
 * stands for all that is not the body: callers, and what runs while a generator is suspended. A body that runs lacks a
 * way out of its node: whoever asks for counts meanwhile must say so (engine/counts.h). */
#ifndef CLP_FLOW_H
#define CLP_FLOW_H

#include "edges.h"
#include "rewritten.h"

enum clp_way_kind {
    CLP_WAY_FALL,   /* to the next instruction; FOR_ITER past the end of its loop, too */
    CLP_WAY_ENTER,  /* into the body, or into a suspended body again: behind a RESUME */
    CLP_WAY_JUMP,
    CLP_WAY_LEAVE,  /* a return or a yield */
    CLP_WAY_RAISE,  /* an exception, to a handler or outside */
    CLP_WAY_THROWN, /* an exception that comes from outside, to a handler */
    CLP_WAY_SENT,   /* 3.11: behind a delegation that ended within throw() */
};

struct clp_way {
    enum clp_way_kind kind;
    uint32_t from, to;     /* nodes */
    uint32_t at, target;   /* the instructions; of a way outside `target` is CLP_NOWHERE */
    uint32_t range;        /* of CLP_WAY_RAISE and CLP_WAY_THROWN: the range whose handler it is; CLP_NOWHERE: none */
    int32_t line;          /* the line that begins by it, or CLP_NO_LINE */
    bool begins;           /* a line begins by it */
    bool asked;            /* the place of the exception tells whether the line begins */
    bool counted;          /* a counter stands on it */
    uint32_t counter, ask; /* constants of its counter, and of the one that asks; or CLP_NOWHERE */
    uint32_t address;      /* of an exception's block at the end; of a jump's piece: units up to the instruction (counted.h) */
    double weight;         /* how often it may be run, compared with others; CLP_WAY_NEVER: no counter can stand there */
};

struct clp_flow {
    const struct clp_edges *edges; /* borrowed */
    uint32_t *nodes;               /* by instruction: the node it lies in; owned */
    uint32_t node_count;
    struct clp_way *ways; /* owned */
    size_t count, room;
    uint32_t *catches; /* by instruction: the way that an exception goes, if it has to be caught; or CLP_NOWHERE; owned */
};

/* Finds the ways, and which of them need counters. On CLP_NO_MEMORY or CLP_UNSUPPORTED *reason is a constant that says
 * why, and *flow is empty. It borrows *edges until it is cleared. */
clp_status clp_flow_init(struct clp_flow *flow, const struct clp_edges *edges, const char **reason);
void clp_flow_clear(struct clp_flow *flow);

/* Puts the ways into out->edges in the order in which they can be counted: each that has no counter is the only such way
 * of one of its nodes that those before it leave. Numbers of counters are constants less `first`. */
clp_status clp_flow_write(const struct clp_flow *flow, uint32_t first, struct clp_rewritten *out);

#endif
