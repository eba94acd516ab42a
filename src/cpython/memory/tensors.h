/* SPDX-License-Identifier: MIT */
/* The memory of PyTorch's tensors, where the library of src/native/tensors.c was loaded before all others. A tensor
 * belongs to the line that runs in the thread which allocates it. Threads of autograd's own, which GPUs have, work for
 * the line that called backward() last, in whatever thread. Where two threads call backward() at the same time, the line
 * that called last gets the work for both. What no line does is counted for the engine as a whole.
 *
 * The hooks run with or without the interpreter's lock. What they read of their own thread without it, is as hooks.h
 * says. */
#ifndef CLP_TENSORS_H
#define CLP_TENSORS_H

#include "engine/tensors.h"

/* From now on tensors are counted in this engine, which stays for good. False: the library is not there. */
bool clp_tensors_use(struct clp_engine *engine);
bool clp_tensors_are_there(void);

/* The first device that has no place, because all are taken; NULL: there is none. */
const char *clp_tensors_refused(void);

/* The thread's counters go: nobody works for its lines any more. Needs no lock. */
void clp_tensors_forget(struct clp_thread *thread);

#endif
