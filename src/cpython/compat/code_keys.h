/* SPDX-License-Identifier: MIT */
/* Finds out whether a code object was compiled from a text: compiles the text again and compares code objects by keys.
 * No Python code runs except audit hooks, so no other tool gets an event.
 *
 * Threads: nothing is kept here. During a compilation a filter of clineprof is in the list of the module warnings;
 * several threads may each have a filter there. */
#ifndef CLP_CODE_KEYS_H
#define CLP_CODE_KEYS_H

#include "compat.h"

/* Returns the key of a code object, which is equal for two code objects compiled from the same text. The key does not
 * depend on inner code objects, which have keys of their own and may have been exchanged. Owned int; NULL with an
 * exception set. */
PyObject *clp_code_key(PyCodeObject *code);

/* Returns the keys of all code that the text (UTF-8, ended by 0) compiles to as a module, as an expression and as a
 * line of an interactive session. `features` are the features of __future__ (bits of PyCF_MASK). Warnings are not
 * shown. Owned set, empty for a text that does not compile; NULL with an exception set. */
PyObject *clp_code_keys(const char *text, int features);

#endif
