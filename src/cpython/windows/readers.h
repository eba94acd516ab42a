/* SPDX-License-Identifier: MIT */
/* Tools that read the instructions of the program's functions, to compile or compare them, get the code as it
 * was before it had probes.
 *
 * Most such tools ask a function for its `__code__`, or a frame for its `f_code`. The C functions behind these
 * two attributes are exchanged: if a module of such a tool asks, the answer is the code without probes.
 * Everybody else gets the code that runs. torch.compile gets code from the interpreter, so one function of
 * torch is wrapped.
 *
 * A compiler runs code of its own, in which no line counts. The functions that it compiles are marked, for the
 * report.
 *
 * Threads: the interpreter's lock protects this. Making code without probes runs Python code (audit hooks)
 * while the code with probes is held; nothing that was looked up before that is used afterwards. */
#ifndef CLP_READERS_H
#define CLP_READERS_H

#include "cpython/recorder/recorder_state.h"

/* Exchanges the two attributes, once for the process. From then on they look code up in this recorder. */
void clp_readers_watch(struct clp_recorder *recorder);

/* Call this when the module of torch.compile is loaded that turns code into a list of instructions. */
#define CLP_READERS_DYNAMO "torch._dynamo.bytecode_transformation"
void clp_readers_meet_dynamo(struct clp_recorder *recorder, PyObject *module);

#endif
