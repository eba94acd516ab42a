/* SPDX-License-Identifier: MIT */
/* What is put before each instruction of a code object, and the constants that this needs. layout.h and around.h decide
 * about it. */
#ifndef CLP_PLACES_H
#define CLP_PLACES_H

#include "edges.h"
#include "base/hashmap.h"
#include "flow.h"

/* What stands before an instruction, in this order. Addresses are units of the new code.
 *
 *     block:    front probe       reached only from the instruction before (entry, resumption, the end of a call)
 *               jump to `plain`   if arriving from the instruction before begins no line
 *     counting: line probe        where jumps that begin the line arrive; instead of it, with counters of ways: a piece
 *                                 for each jump that has one (counted.h)
 *     plain:    behind probes     where all other jumps arrive; suspension, leaving, the begin of a call
 *     self:     the instruction */
struct clp_code_place {
    uint32_t block, counting, plain, self;
    uint32_t front, line; /* constants of the probes, or CLP_NOWHERE */
    uint32_t before;      /* the probe of a call or an operator that begins */
    uint32_t front_depth, before_depth; /* where the operands of these two lie in the stack; 0: they have none */
    uint8_t prefixes;     /* prefixes of the instruction in the new code */
    bool jumps_over;      /* the jump to `plain` is there */
    bool padded;          /* with counters: a NOP stands at the front, because exceptions of the instruction are looked up there */
    uint32_t jump;        /* with counters: the way that the instruction's jump goes; or CLP_NOWHERE */
    uint32_t arrivals;    /* with counters: where the jumps that arrive here begin in the layout's list */
    bool left; /* the body is left before the instruction: it ends a line that only returns */
};

struct clp_layout {
    const struct clp_decoded *decoded; /* borrowed */
    const struct clp_edges *edges;     /* borrowed */
    struct clp_rewritten *out;         /* borrowed; takes the probes */
    struct clp_flow *flow;             /* borrowed; with CLP_INSERT_COUNTS only */
    struct clp_code_place *places;          /* by instruction, and one behind the last; owned */
    uint32_t *arrivals;                /* jumps that arrive at counters, by instruction: numbers of ways; owned */
    uint32_t arrival_count;
    /* Addresses of the `back` blocks, see clp_layout_back; owned. CLP_NOWHERE: the block is not needed. */
    uint32_t *backs;
    /* By range, addresses of the blocks that ask a re-raised exception for its place; owned. CLP_NOWHERE: not
     * needed. */
    uint32_t *asks;
    struct clp_hashmap constants;      /* constants of the probes, by kind and line */
    uint32_t end;                      /* units up to the end of the original code, probes included */
    uint32_t leave_block;              /* address of the block `out` */
    uint32_t total;                    /* units of the whole code */
    enum clp_insertion insert;
};

/* The constant of the probe of this kind and line, or CLP_NOWHERE when no such probe is used. */
uint32_t clp_layout_constant(const struct clp_layout *layout, enum clp_probe_kind kind,
                             int32_t line);

/* Sets *constant to the constant of this probe, which is made if there is none yet. */
clp_status clp_layout_want(struct clp_layout *layout, struct clp_probe probe, uint32_t *constant);

/* Adds the probe, and sets *constant to its constant. */
clp_status clp_layout_add(struct clp_layout *layout, struct clp_probe probe, uint32_t *constant);

/* The number of EXTENDED_ARG prefixes that an argument needs. */
static inline uint8_t clp_layout_prefixes(uint32_t argument)
{
    return (uint8_t)((argument > 0xFF) + (argument > 0xFFFF) + (argument > 0xFFFFFF));
}

/* The units that a probe with this constant takes; 0 for CLP_NOWHERE. */
static inline uint32_t clp_layout_probe_units(uint32_t constant)
{
    return constant == CLP_NOWHERE ? 0u : 3u + clp_layout_prefixes(constant);
}

/* The units that a block takes which asks for the place, with this probe. */
uint32_t clp_layout_ask_units(const struct clp_layout *layout, uint32_t constant);

#endif
