/* SPDX-License-Identifier: MIT */
/* Bodies that have left their thread's stack and may continue, in whichever thread:
 *
 *   a record       for each suspended body, under the address of its frame
 *   a whole stack  where the program switches between stacks within a thread (stacks.h), under its owner's address */
#ifndef CLP_SUSPENDED_H
#define CLP_SUSPENDED_H

#include "engine_state.h"

/* A new record under this address, for the caller to fill. A record that was there is dropped. NULL: no memory. */
struct clp_suspended *clp_suspended_new(struct clp_engine *engine, const void *frame);

/* The record under this address; NULL: there is none. */
struct clp_suspended *clp_suspended_find(const struct clp_engine *engine, const void *frame);

/* Drops the record under this address, if there is one, because its body has ended. */
void clp_suspended_forget(struct clp_engine *engine, const void *frame);

void clp_suspended_clear(struct clp_engine *engine);

/* ---- whole stacks ---- */

/* A body that was suspended together with its whole stack. */
struct clp_parked_body {
    struct clp_suspended place;
    uint64_t code;
};

struct clp_parked {
    size_t count;
    struct clp_parked_body bodies[]; /* the outermost first */
};

/* Room for a stack of `count` bodies, for the caller to fill. It is kept under its owner's address, in place of
 * what was kept there. NULL: no memory. */
struct clp_parked *clp_parked_new(struct clp_engine *engine, const void *owner, size_t count);

/* Hands over the stack that was kept under this address; the caller owns it. NULL: there is none. */
struct clp_parked *clp_parked_take(struct clp_engine *engine, const void *owner);

void clp_parked_free(struct clp_engine *engine, struct clp_parked *parked);

/* Frees the stack that is kept under this address: its owner is gone. */
void clp_engine_forget_stack(struct clp_engine *engine, const void *owner);

/* Frees every stack that is kept. */
void clp_engine_forget_stacks(struct clp_engine *engine);

/* Is a body of the function on a stack that is kept? */
bool clp_engine_is_parked(const struct clp_engine *engine, uint32_t function);

#endif
