/* SPDX-License-Identifier: MIT */
/* Where lines begin. The interpreter decides it from the instruction executed before, so what counts
 * is not an instruction but an edge: a way from one instruction to the next, by falling through, by
 * a jump or by an exception. */
#ifndef CLP_EDGES_H
#define CLP_EDGES_H

#include "decoded.h"

enum {
    CLP_EDGE_MARKED = 1,      /* a line may begin at this instruction */
    CLP_EDGE_FALLS = 2,       /* it is reached from the one before it */
    CLP_EDGE_FALL_COUNTS = 4, /* .. and a line begins then */
    CLP_EDGE_JUMPED = 8,      /* it is reached by a jump or an exception */
    CLP_EDGE_COUNTED = 16,    /* .. and a line begins after one of them */
    CLP_EDGE_UNCOUNTED = 64,  /* it is reached by a jump or an exception that begins no line */
    CLP_EDGE_PLACE_COUNTS = 128, /* a RERAISE that restores a place: its handler's line begins */
    CLP_EDGE_PLACE_ASKED = 256,  /* .. or does not: it depends on the place */
    CLP_EDGE_MAY_COUNT = 512,    /* .. and this is the handler */
    CLP_EDGE_RETHROWN = 32,   /* an exception here may have been thrown into a suspended body */
};

struct clp_edges {
    const struct clp_decoded *decoded; /* borrowed */
    uint16_t *flags;                   /* by instruction; owned */
};

/* CLP_NO_MEMORY, or CLP_UNSUPPORTED with *reason where a line would begin between instructions that
 * must stay together; *edges is then empty. */
clp_status clp_edges_init(struct clp_edges *edges, const struct clp_decoded *decoded,
                          const char **reason);
void clp_edges_clear(struct clp_edges *edges);

/* Does a line begin at `to` when it is executed right after `from`? */
bool clp_edge_counts(const struct clp_edges *edges, uint32_t from, uint32_t to);

/* Does a line begin at the handler when an exception leads there from `from`? */
bool clp_edge_throw_counts(const struct clp_edges *edges, uint32_t from, uint32_t handler);

/* The RERAISE with the place of the exception to which this handler falls through; CLP_NOWHERE when it
 * has none near. */
uint32_t clp_edges_reraise_of(const struct clp_decoded *decoded, uint32_t handler);

/* Does a line begin at this instruction, whichever way it is reached? */
static inline bool clp_edges_begins(const struct clp_edges *edges, uint32_t at)
{
    return (edges->flags[at] & (CLP_EDGE_FALL_COUNTS | CLP_EDGE_COUNTED)) != 0;
}

/* May a line begin at this instruction, if only by the place of an exception that is raised again? */
static inline bool clp_edges_may_begin(const struct clp_edges *edges, uint32_t at)
{
    return clp_edges_begins(edges, at) || (edges->flags[at] & CLP_EDGE_MAY_COUNT) != 0;
}

#endif
