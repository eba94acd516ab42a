/* SPDX-License-Identifier: MIT */
/* The first half of a rewrite: decides what is put into a code object, and at which address everything lies. */
#ifndef CLP_LAYOUT_H
#define CLP_LAYOUT_H

#include "places.h"

/* The number of `back` blocks for each range of the exception table, and for the code in no range. An exception
 * that was thrown into a suspended body goes through such a block: through the first where the handler's line
 * does not begin then, through the second where it does. */
#define CLP_BACK_BLOCKS 2

/* Plans the new code. `flow` is NULL but with CLP_INSERT_COUNTS. All is borrowed. On CLP_NO_MEMORY or CLP_UNSUPPORTED *reason is a constant that says why, and there is nothing to
 * clear but *out. */
clp_status clp_layout_init(struct clp_layout *layout, const struct clp_edges *edges, struct clp_flow *flow,
                           struct clp_rewritten *out, enum clp_insertion insert, const char **reason);
void clp_layout_clear(struct clp_layout *layout);

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

/* The constant of the probe that asks for the place on the way to the range's handler. */
uint32_t clp_layout_ask_constant(const struct clp_layout *layout, uint32_t range);

/* The address at which the range's handler begins. `counts`: its line begins then. */
uint32_t clp_layout_handler(const struct clp_layout *layout, uint32_t range, bool counts);

#endif
