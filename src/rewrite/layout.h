/* SPDX-License-Identifier: MIT */
/* What is put into a code object, and where everything comes to lie: the first half of a rewrite. */
#ifndef CLP_LAYOUT_H
#define CLP_LAYOUT_H

#include "edges.h"
#include "base/hashmap.h"
#include "rewritten.h"

/* What stands before an instruction, in this order; addresses are units of the new code.
 *
 *     block:    front probe       only on the way from the instruction before (entry, resumption)
 *               jump to `plain`   when that way begins no line
 *     counting: line probe        jumps that begin the line arrive here
 *     plain:    behind probes     the others here; suspension, leaving
 *     self:     the instruction */
struct clp_code_place {
    uint32_t block, counting, plain, self;
    uint32_t front, line; /* constants, or CLP_NOWHERE */
    uint8_t prefixes;     /* of the instruction, now */
    bool jumps_over;
    bool left; /* the body has been left already: a line that only returns */
};

/* Two blocks per range, and two for what lies in no range: where what was thrown into a suspended
 * body goes, when the line of its handler does not begin with that and when it does. */
#define CLP_BACK_BLOCKS 2

struct clp_layout {
    const struct clp_decoded *decoded; /* borrowed */
    const struct clp_edges *edges;     /* borrowed */
    struct clp_rewritten *out;         /* borrowed; takes the probes */
    struct clp_code_place *places;          /* by instruction; owned */
    uint32_t *backs;                   /* see clp_layout_back; owned. CLP_NOWHERE: not needed */
    uint32_t *asks; /* by range: where a re-raised exception is asked for its place; likewise */
    struct clp_hashmap constants;      /* of the probes, by kind and line */
    uint32_t end;                      /* of the code that was there before */
    uint32_t leave_block;              /* address of the block `out` */
    uint32_t total;                    /* units in all */
    bool insert;
};

clp_status clp_layout_init(struct clp_layout *layout, const struct clp_decoded *decoded,
                           const struct clp_edges *edges, struct clp_rewritten *out, bool insert,
                           const char **reason);
void clp_layout_clear(struct clp_layout *layout);

/* The constant of the probe, or CLP_NOWHERE when it is not used. */
uint32_t clp_layout_constant(const struct clp_layout *layout, enum clp_probe_kind kind,
                             int32_t line);

/* Prefixes that an argument needs. */
static inline uint8_t clp_layout_prefixes(uint32_t argument)
{
    return (uint8_t)((argument > 0xFF) + (argument > 0xFFFF) + (argument > 0xFFFFFF));
}

/* Units of the probe with this constant; 0 for CLP_NOWHERE. */
static inline uint32_t clp_layout_probe_units(uint32_t constant)
{
    return constant == CLP_NOWHERE ? 0u : 3u + clp_layout_prefixes(constant);
}

/* What stands right before the instruction itself. */
struct clp_behind {
    uint32_t resume_if, suspend, leave; /* constants, or CLP_NOWHERE */
    bool repeats_send;                  /* a jump over a SEND that is only looked at (3.11) */
};

struct clp_behind clp_layout_behind(const struct clp_layout *layout, uint32_t at);

/* Where the instruction's jump arrives. */
uint32_t clp_layout_destination(const struct clp_layout *layout, uint32_t from);

/* The slot in `backs` of exceptions thrown in at this instruction. */
uint32_t clp_layout_back(const struct clp_layout *layout, uint32_t at);

/* Units of the block that asks, with this constant. */
uint32_t clp_layout_ask_units(const struct clp_layout *layout, uint32_t constant);

/* The constant of the probe that asks on the way to the range's handler. */
uint32_t clp_layout_ask_constant(const struct clp_layout *layout, uint32_t range);

/* Where an exception raised at `from` finds its handler, for a range that has one. */
uint32_t clp_layout_handler(const struct clp_layout *layout, uint32_t range, bool counts);

#endif
