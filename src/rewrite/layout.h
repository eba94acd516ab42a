/* SPDX-License-Identifier: MIT */
/* The first half of a rewrite: decides what is put into a code object, and at which address everything lies. */
#ifndef CLP_LAYOUT_H
#define CLP_LAYOUT_H

#include "edges.h"
#include "base/hashmap.h"
#include "rewritten.h"

/* What stands before an instruction, in this order. Addresses are units of the new code.
 *
 *     block:    front probe       reached only from the instruction before (entry, resumption, the end of a call)
 *               jump to `plain`   if arriving from the instruction before begins no line
 *     counting: line probe        where jumps that begin the line arrive
 *     plain:    behind probes     where all other jumps arrive; suspension, leaving, the begin of a call
 *     self:     the instruction */
struct clp_code_place {
    uint32_t block, counting, plain, self;
    uint32_t front, line; /* constants of the probes, or CLP_NOWHERE */
    uint32_t before;      /* the probe of a call or an operator that begins */
    uint32_t front_depth, before_depth; /* where the operands of these two lie in the stack; 0: they have none */
    uint8_t prefixes;     /* prefixes of the instruction in the new code */
    bool jumps_over;      /* the jump to `plain` is there */
    bool left; /* the body is left before the instruction: it ends a line that only returns */
};

/* The number of `back` blocks for each range of the exception table, and for the code in no range. An exception
 * that was thrown into a suspended body goes through such a block: through the first where the handler's line
 * does not begin then, through the second where it does. */
#define CLP_BACK_BLOCKS 2

struct clp_layout {
    const struct clp_decoded *decoded; /* borrowed */
    const struct clp_edges *edges;     /* borrowed */
    struct clp_rewritten *out;         /* borrowed; takes the probes */
    struct clp_code_place *places;          /* by instruction; owned */
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

/* Plans the new code. On CLP_NO_MEMORY or CLP_UNSUPPORTED *reason is a constant that says why, and there is nothing to clear but *out. */
clp_status clp_layout_init(struct clp_layout *layout, const struct clp_decoded *decoded,
                           const struct clp_edges *edges, struct clp_rewritten *out,
                           enum clp_insertion insert, const char **reason);
void clp_layout_clear(struct clp_layout *layout);

/* The constant of the probe of this kind and line, or CLP_NOWHERE when no such probe is used. */
uint32_t clp_layout_constant(const struct clp_layout *layout, enum clp_probe_kind kind,
                             int32_t line);

/* Sets *constant to the constant of this probe, which is made if there is none yet. */
clp_status clp_layout_want(struct clp_layout *layout, struct clp_probe probe, uint32_t *constant);

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

/* The units of a probe with an operand that lies so deep in the stack; with 0 of one without. */
uint32_t clp_layout_operand_units(const struct clp_layout *layout, uint32_t constant, uint32_t depth);

/* What stands right before the instruction itself, in the order of the fields. */
struct clp_behind {
    uint32_t resume_if, suspend, leave, before; /* constants of probes, or CLP_NOWHERE */
    bool repeats_send;                  /* a SEND that is only looked at, and a jump over it (3.11) */
};

struct clp_behind clp_layout_behind(const struct clp_layout *layout, uint32_t at);

/* The address at which the instruction's jump arrives. */
uint32_t clp_layout_destination(const struct clp_layout *layout, uint32_t from);

/* The index in `backs` of the block for exceptions that are thrown in at this instruction. */
uint32_t clp_layout_back(const struct clp_layout *layout, uint32_t at);

/* The units that a block takes which asks for the place, with this probe. */
uint32_t clp_layout_ask_units(const struct clp_layout *layout, uint32_t constant);

/* The constant of the probe that asks for the place on the way to the range's handler. */
uint32_t clp_layout_ask_constant(const struct clp_layout *layout, uint32_t range);

/* The address at which the range's handler begins. `counts`: its line begins then. */
uint32_t clp_layout_handler(const struct clp_layout *layout, uint32_t range, bool counts);

#endif
