/* SPDX-License-Identifier: MIT */
/* What runs Python code half-way, and must not be begun twice: making the recorder and measuring its tracer
 * for the first Profiler, and starting and stopping a tracer. It is one thread's turn; the others wait.
 *
 * Nobody waits for ever. Who has the turn may run a finalizer that waits for a lock of the program's, which
 * the waiting thread holds; and a fork leaves that thread behind. So after some seconds, and in a child,
 * the turn goes to who asks for it: what is done in a turn must be safe even then, only not as exact. */
#ifndef CLP_TURN_H
#define CLP_TURN_H

#include "compat.h"

/* Waits for the turn and takes it. May be nested. False with an exception set: a signal
 * handler of the program raised it. */
bool clp_turn_begin(void);

/* Takes the turn without waiting; does nothing where another thread has it. */
void clp_turn_claim(void);

/* Has this thread begun another turn within its own, in a signal handler for example? */
bool clp_turn_is_nested(void);

/* Ends what this thread has begun or claimed. */
void clp_turn_end(void);

#endif
