/* SPDX-License-Identifier: MIT */
/* Was a code object compiled from this text? The text is compiled again, and code objects are compared by
 * keys. No code of Python's runs but audit hooks, so that no other tool is told of any.
 *
 * Threads: nothing is kept here. While audit hooks run, a filter of ours is among those of the module
 * warnings; several threads may have one there each. */
#ifndef CLP_CODE_KEYS_H
#define CLP_CODE_KEYS_H

#include "compat.h"

/* Equal for what is compiled twice from one text. Code within it has a key of its own, and may have been
 * exchanged. Owned int; NULL with an exception set. */
PyObject *clp_code_key(PyCodeObject *code);

/* The keys of all code that the text, UTF-8, compiles to as a module, an expression or a line typed in,
 * with these features of __future__ (of PyCF_MASK). Warnings are not shown. Owned set; NULL with
 * an exception set. */
PyObject *clp_code_keys(const char *text, int features);

#endif
