/* SPDX-License-Identifier: MIT */
/* What is known of the code that jax.jit has made of a selected function (struct clp_compiled).
 *
 * A listener of jax is told how long tracing, lowering and compiling took. The function that jax calls before it traces
 * is wrapped, to know of which code. The function that makes a jitted function is wrapped, and exchanges the C function
 * that the interpreter calls for this object, to count the calls. Where jax traces a call, as in jax.grad, or where
 * compiled code is called in a way that is not seen, the number of calls is not known.
 *
 * Threads: the interpreter's lock protects this. */
#ifndef CLP_JAX_COMPILER_H
#define CLP_JAX_COMPILER_H

#include "cpython/recorder/recorder_state.h"

/* To be called when this module is loaded. It may leave an exception. */
#define CLP_JAX_COMPILER_MODULE "jax._src.pjit"
void clp_jax_compiler_meet(struct clp_recorder *recorder, PyObject *module);

#endif
