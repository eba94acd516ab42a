/* SPDX-License-Identifier: MIT */
/* Lets only one thread at a time do work that runs Python code in the middle and must not be begun twice: creating
 * the recorder and measuring its tracer for the first Profiler, and starting and stopping a tracer. One thread has
 * the turn, the others wait.
 *
 * No thread waits for ever. The thread that has the turn may run a finalizer that waits for a lock of the program,
 * and the waiting thread may hold this lock. After a fork the thread that had the turn does not exist in the child.
 * So after about ten seconds, and in a child, the turn passes to the thread that asks for it. Work in a turn must be
 * safe even then; only its result may be less exact. */
#ifndef CLP_TURN_H
#define CLP_TURN_H

#include "compat.h"

/* Waits for the turn and takes it. May be nested. Returns false with an exception set, without the turn, when a signal
 * handler of the program raised while it waited. */
bool clp_turn_begin(void);

/* Takes the turn without waiting; does nothing where another thread has it. */
void clp_turn_claim(void);

/* Has this thread begun another turn within its own, in a signal handler for example? */
bool clp_turn_is_nested(void);

/* Ends the last turn that this thread has begun or claimed. Does nothing in a thread without the turn. */
void clp_turn_end(void);

#endif
