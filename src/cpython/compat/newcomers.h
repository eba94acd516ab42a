/* SPDX-License-Identifier: MIT */
/* Notices threads that are new to the interpreter: created by threading, by _thread, or by C code that calls
 * PyGILState_Ensure. CPython has no event for a new thread. But before the first frame of Python code in a thread, the
 * interpreter asks its arena allocator for a stack of frames, and this allocator can be hooked. The interpreter holds
 * its lock meanwhile, and this lock protects the variables here. Only the tracer settrace uses this file. */
#ifndef CLP_NEWCOMERS_H
#define CLP_NEWCOMERS_H

#include "compat.h"

#if CLP_HAS_FRAME_STACKS

/* Makes told(data) be called in each new thread of the main interpreter, before the thread's first frame begins and
 * with the interpreter's lock held. `told` must not raise. NULL ends the calls. */
void clp_newcomers_meet(void (*told)(void *data), void *data);

#endif

#endif
