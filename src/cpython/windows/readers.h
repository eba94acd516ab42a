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

/* Notes that a compiler runs code of its own in place of this code, and in place of no code within it. `compiler` is a
 * constant. Nothing happens where the code is not selected. */
void clp_readers_note_compiler(struct clp_recorder *recorder, PyObject *code, const char *compiler);

/* Puts a C function into the place of a function of the module. The function that was there, which may be of any kind,
 * is the `self` of calls. Nothing happens where that was done before. False where there is no such function; no
 * exception is set. */
bool clp_readers_wrap(PyObject *module, const char *name, PyMethodDef *ours);

/* Call this when the module of torch.compile is loaded that turns code into a list of instructions. */
#define CLP_READERS_DYNAMO "torch._dynamo.bytecode_transformation"
void clp_readers_meet_dynamo(struct clp_recorder *recorder, PyObject *module);

#endif
