/* SPDX-License-Identifier: MIT */
/* Where the counters of ways (flow.h) stand. A counter is a probe: LOAD_CONST, UNARY_NEGATIVE, POP_TOP. Up to
 * 3.12 LOAD_CONST and FOR_ITER do it in less time: the counter is an iterator that is at its end, and FOR_ITER goes on with
 * the next instruction, past an END_FOR on 3.12.
 *
 *     the way                              its counter
 *     falls to an instruction, enters      before it, where jumps do not come by
 *     jumps to it                          before it as well, in a piece of its own at which the jump arrives; but before
 *                                          a JUMP_FORWARD, which never fails
 *     returns or yields                    before that
 *     is an exception                      in a block at the end, which raises it again
 *
 * The places are such that a way which is counted is gone: no instruction between a counter and the end of its way can
 * fail, or let another thread run. */
#ifndef CLP_COUNTED_H
#define CLP_COUNTED_H

#include "flow.h"
#include "places.h"

/* Plans the counters. CLP_NO_MEMORY: only *layout is to be cleared. */
clp_status clp_counted_plan(struct clp_layout *layout);

/* Do counters take the two instructions of 3.12 and older? */
static inline bool clp_counted_iterates(const struct clp_bytecode *bytecode)
{
    return bytecode->minor <= 12;
}

/* The units of the counter with this constant; 0 for CLP_NOWHERE. */
uint32_t clp_counted_units(const struct clp_layout *layout, uint32_t constant);

/* Lays out the pieces at which jumps to the instruction arrive, right before its `plain`. Returns their units. */
uint32_t clp_counted_lay_out_arrivals(const struct clp_layout *layout, uint32_t at);

/* Gives the blocks at the end their addresses, from `address` on. Returns the address behind them. */
uint32_t clp_counted_lay_out_catches(const struct clp_layout *layout, uint32_t address);

/* The units of the block that catches exceptions of this way; 0: none is needed. */
uint32_t clp_counted_catch_units(const struct clp_layout *layout, const struct clp_way *way);

/* The way that exceptions at this instruction go, if they have to be caught; else NULL. */
const struct clp_way *clp_counted_catch(const struct clp_layout *layout, uint32_t at);

/* Tells where the nodes lie, and in which order the ways are counted. */
clp_status clp_counted_write(const struct clp_layout *layout);

#endif
