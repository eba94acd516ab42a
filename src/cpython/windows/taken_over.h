/* SPDX-License-Identifier: MIT */
/* Selected functions that compilers take over (compilers.h, jax_compiler.h): finds them by their code, and notes what
 * is known of the compiled code.
 *
 * Threads: the interpreter's lock protects this. */
#ifndef CLP_TAKEN_OVER_H
#define CLP_TAKEN_OVER_H

#include "cpython/recorder/recorder_state.h"

/* Call this before the other functions. The recorder is that of the process. */
void clp_taken_watch(struct clp_recorder *recorder);

/* The code of a Python function or method, borrowed; NULL where the object is neither, or NULL. */
PyObject *clp_taken_code(PyObject *callable);

/* The number of the function with this code, or CLP_UNSELECTED. `code` may be NULL. */
uint32_t clp_taken_function(PyObject *code);

/* Where to count for the function with this number, or with this code. NULL: nobody counts it. */
struct clp_compiled *clp_taken_counters(uint32_t function);
struct clp_compiled *clp_taken_counters_of(PyObject *code);

/* Notes that the function, which is selected, has compiled code whose calls are not seen. */
void clp_taken_note_unseen(uint32_t function);

/* Does what clp_readers_note_compiler does. `code` may be NULL. */
void clp_taken_note(PyObject *code, const char *compiler);

#endif
