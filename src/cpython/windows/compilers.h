/* SPDX-License-Identifier: MIT */
/* What is known of the code that a compiler has made of a selected function: how often Python called it, how often the
 * function was compiled, and for how long (struct clp_compiled). What a library does not tell exactly stays 0. jax.jit
 * has a file of its own (jax_compiler.h).
 *
 *   numba          its event "numba:compile" tells the time. The C function that calls a dispatcher is exchanged, to
 *                  count. What calls a function within compiled code is not seen.
 *   torch.compile  the function of torch that compiles a frame is wrapped, for the time. A hook that torch calls with
 *                  each code object that it has made puts a counter in front of that code. Where some code of a
 *                  function has no counter, the number of calls is not known.
 *   torch.jit      two functions of torch are wrapped, which torch.jit.script and torch.jit.trace call with what they
 *                  compile. Neither calls nor times are known.
 *
 * Threads: the interpreter's lock protects this. */
#ifndef CLP_COMPILERS_H
#define CLP_COMPILERS_H

#include "cpython/recorder/recorder_state.h"

/* To be called when these modules are loaded. They may leave an exception. */
#define CLP_COMPILERS_TORCH "torch._dynamo.convert_frame"
#define CLP_COMPILERS_NUMBA_EVENTS "numba.core.event"
#define CLP_COMPILERS_NUMBA "numba.core.registry"
#define CLP_COMPILERS_SCRIPT "torch.jit.frontend"
#define CLP_COMPILERS_TRACE "torch.jit._trace"
void clp_compilers_meet_torch(struct clp_recorder *recorder, PyObject *module);
void clp_compilers_meet_numba_events(struct clp_recorder *recorder, PyObject *module);
void clp_compilers_meet_numba(struct clp_recorder *recorder, PyObject *module);
void clp_compilers_meet_script(struct clp_recorder *recorder, PyObject *module);
void clp_compilers_meet_trace(struct clp_recorder *recorder, PyObject *module);

#endif
