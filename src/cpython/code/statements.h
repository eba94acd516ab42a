/* SPDX-License-Identifier: MIT */
/* --by-statement: which lines of a text belong to one statement, as Python's own parser finds it.
 *
 * Threads: the interpreter's lock. clp_statements_read runs Python code, before a change (change.h) in which
 * clp_statements_of is asked; of two threads that parse the same text one's result stays, for both. */
#ifndef CLP_STATEMENTS_H
#define CLP_STATEMENTS_H

#include "rewrite/decoded.h"
#include "source_cache.h"

/* An owned helper for many texts, or NULL with an exception set. To be made before the program runs,
 * for it imports the parser. */
PyObject *clp_statements_start(void);

/* Reads the statements of the text of this number, once. `helper` is borrowed, or NULL: then lines count by
 * themselves, and nothing is read. False with an exception set. */
bool clp_statements_read(PyObject *helper, const struct clp_source_cache *texts, uint32_t text);

/* The statements of a text that was read; of any other, and without a helper, none: then lines count by
 * themselves. Borrowed from the helper, for its lifetime. */
struct clp_statements clp_statements_of(PyObject *helper, uint32_t text);

#endif
