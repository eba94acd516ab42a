/* SPDX-License-Identifier: MIT */
/* Where lines begin. The interpreter decides this from the instruction that was executed before. So what counts
 * is not an instruction but an edge: a way from one instruction to the next, by falling through, by a jump or
 * by an exception. */
#ifndef CLP_EDGES_H
#define CLP_EDGES_H

#include "decoded.h"

/* Flags of an instruction. */
enum {
    CLP_EDGE_MARKED = 1,      /* an edge to it may begin a line */
    CLP_EDGE_FALLS = 2,       /* it is reached from the instruction before it */
    CLP_EDGE_FALL_COUNTS = 4, /* arriving from the instruction before it begins a line */
    CLP_EDGE_JUMPED = 8,      /* it is reached by a jump or an exception */
    CLP_EDGE_COUNTED = 16,    /* some jump or exception to it begins a line */
    CLP_EDGE_UNCOUNTED = 64,  /* some jump or exception to it begins no line */
    CLP_EDGE_PLACE_COUNTS = 128, /* it is a RERAISE that restores a place: its handler's line begins */
    CLP_EDGE_PLACE_ASKED = 256,  /* it is a RERAISE that restores a place: the place decides that */
    CLP_EDGE_MAY_COUNT = 512,    /* it is the handler of a RERAISE with CLP_EDGE_PLACE_ASKED */
    CLP_EDGE_RETHROWN = 32,      /* an exception at it may have been thrown into a suspended body */
};

struct clp_edges {
    const struct clp_decoded *decoded; /* borrowed */
    uint16_t *flags;                   /* by instruction; owned */
};

/* Finds all edges. CLP_NO_MEMORY, or CLP_UNSUPPORTED where a loop has no END_FOR or where a line would begin
 * between instructions that must stay together. *reason is then a constant that says why, and *edges is empty. */
clp_status clp_edges_init(struct clp_edges *edges, const struct clp_decoded *decoded,
                          const char **reason);
void clp_edges_clear(struct clp_edges *edges);

/* Does a line begin at `to` when it is executed right after `from`? */
bool clp_edge_counts(const struct clp_edges *edges, uint32_t from, uint32_t to);

/* Does a line begin at the handler when an exception leads there from `from`? */
bool clp_edge_throw_counts(const struct clp_edges *edges, uint32_t from, uint32_t handler);

/* Where the jump `from` continues. For a FOR_ITER whose loop ends in END_FOR this is past that. */
uint32_t clp_edges_goes_to(const struct clp_decoded *decoded, uint32_t from);

/* The RERAISE with the place of the exception that this handler falls through to. CLP_NOWHERE: there is none
 * nearby. */
uint32_t clp_edges_reraise_of(const struct clp_decoded *decoded, uint32_t handler);

/* Does a line begin at this instruction, whichever way it is reached? */
static inline bool clp_edges_begins(const struct clp_edges *edges, uint32_t at)
{
    return (edges->flags[at] & (CLP_EDGE_FALL_COUNTS | CLP_EDGE_COUNTED)) != 0;
}

/* Like clp_edges_begins, but also true where only the place of a re-raised exception tells whether a line
 * begins. */
static inline bool clp_edges_may_begin(const struct clp_edges *edges, uint32_t at)
{
    return clp_edges_begins(edges, at) || (edges->flags[at] & CLP_EDGE_MAY_COUNT) != 0;
}

#endif
