/* SPDX-License-Identifier: MIT */
/* Finds for --by-statement which lines of a text belong to one statement, with Python's own parser.
 *
 * Threads: the interpreter's lock. clp_statements_read runs Python code, so it is called before the change (change.h)
 * in which clp_statements_of is called. If two threads parse the same text, both use the first result. */
#ifndef CLP_STATEMENTS_H
#define CLP_STATEMENTS_H

#include "rewrite/decoded.h"
#include "source_cache.h"

/* Returns an owned helper for any number of texts, or NULL with an exception set. Call it before the program runs,
 * because it imports the parser. */
PyObject *clp_statements_start(void);

/* Reads the statements of the text number `text`; a second call does nothing. `helper` is borrowed; with NULL nothing
 * is read, and every line counts by itself. Returns false with an exception set. */
bool clp_statements_read(PyObject *helper, const struct clp_source_cache *texts, uint32_t text);

/* Returns the statements of a text that was read. For any other text, and without a helper, there are none, and every
 * line counts by itself. Borrowed from the helper, valid as long as the helper. */
struct clp_statements clp_statements_of(PyObject *helper, uint32_t text);

#endif
