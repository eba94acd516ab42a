/* SPDX-License-Identifier: MIT */
/* Threads that are new to the interpreter: made by threading, by _thread, or by C code that calls
 * PyGILState_Ensure. Nothing tells of them; but a thread's first frame of Python code makes the
 * interpreter ask its arena allocator, which may be hooked, for a stack of frames. The allocator is asked with
 * the interpreter's lock held, which protects what is set here. */
#ifndef CLP_NEWCOMERS_H
#define CLP_NEWCOMERS_H

#include "compat.h"

#if CLP_HAS_FRAME_STACKS

/* From now on meet(data) is called in each new thread of the main interpreter, which has its lock,
 * before its first frame begins. It may not raise. NULL: no more. */
void clp_newcomers_meet(void (*meet)(void *data), void *data);

#endif

#endif
