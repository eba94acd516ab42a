/* SPDX-License-Identifier: MIT */
/* What is kept of bodies that have left their thread's stack and may go on, in whichever thread:
 *
 *   a record       for each body that is suspended, under its frame's address
 *   a whole stack  where the program switches between stacks within a thread (stacks.h), under its owner's */
#ifndef CLP_SUSPENDED_H
#define CLP_SUSPENDED_H

#include "engine_state.h"

/* A record under this address, for the caller to fill; NULL: no memory. */
struct clp_suspended *clp_suspended_new(struct clp_engine *engine, const void *frame);

/* NULL: there is none. */
struct clp_suspended *clp_suspended_find(const struct clp_engine *engine, const void *frame);

/* The body has ended, or has long been gone. */
void clp_suspended_forget(struct clp_engine *engine, const void *frame);

void clp_suspended_clear(struct clp_engine *engine);

/* ---- whole stacks ---- */

/* A body that was suspended with the whole of its stack. */
struct clp_parked_body {
    struct clp_suspended place;
    uint64_t code;
};

struct clp_parked {
    size_t count;
    struct clp_parked_body bodies[]; /* the outermost first */
};

/* Room for a stack of so many bodies, kept under its owner, for the caller to fill. NULL: no memory. */
struct clp_parked *clp_parked_new(struct clp_engine *engine, const void *owner, size_t count);

/* What was kept under this address; the caller owns it. NULL when there is none. */
struct clp_parked *clp_parked_take(struct clp_engine *engine, const void *owner);

void clp_parked_free(struct clp_engine *engine, struct clp_parked *parked);

/* What is kept under this address belonged to somebody who is gone. */
void clp_engine_forget_stack(struct clp_engine *engine, const void *owner);

/* Forgets every stack that is kept. */
void clp_engine_forget_stacks(struct clp_engine *engine);

/* Is a body of the function on a stack that is kept? */
bool clp_engine_is_parked(const struct clp_engine *engine, uint32_t function);

#endif
