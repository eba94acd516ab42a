/* SPDX-License-Identifier: MIT */
/* Tools that read the instructions of the program's functions, to compile them or to compare them, get the
 * code as it was before probes came into it.
 *
 * Most ask a function for its `__code__`, or a frame for its `f_code`. The C functions behind these two
 * attributes are exchanged: where a module of such a tool asks, the answer is the code without probes.
 * Everybody else gets the code that runs. torch.compile gets code from the interpreter, so one function of
 * it is wrapped.
 *
 * A compiler runs code of its own, in which no line counts. Its functions are marked, for the report.
 *
 * Threads: the interpreter's lock. Making code without probes runs Python code (audit hooks), while the code with
 * them is held; nothing is kept from it. */
#ifndef CLP_READERS_H
#define CLP_READERS_H

#include "cpython/recorder/recorder_state.h"

/* Exchanges the two attributes, once for the process; from now on they ask this recorder. */
void clp_readers_watch(struct clp_recorder *recorder);

/* The module of torch.compile in which code becomes a list of instructions; it was loaded. */
#define CLP_READERS_DYNAMO "torch._dynamo.bytecode_transformation"
void clp_readers_meet_dynamo(struct clp_recorder *recorder, PyObject *module);

#endif
