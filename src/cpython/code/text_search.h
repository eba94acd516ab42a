/* SPDX-License-Identifier: MIT */
/* Finds the text that a code object was compiled from, and stores it (source_cache.h). The places of the search, in
 * order, and when a text found there is used:
 *
 *   texts passed to exec(), eval(), compile()   when the text compiles to the code
 *   the file as it is now                       when the file was not changed while the program ran, or when the
 *                                               text compiles to the code
 *   earlier texts of the same file              when a text compiles to the code
 *   linecache                                   for code in no file: notebooks, doctest, attrs
 *   the loader of the module                    when the file is inside the loader's: a zip
 *
 * Threads: the interpreter's lock. Both functions run Python code, so they must not be called within a change
 * (change.h). They hold references to all objects that they need while Python code runs. */
#ifndef CLP_TEXT_SEARCH_H
#define CLP_TEXT_SEARCH_H

#include "source_cache.h"

/* Returns the number of the text that `code` was compiled from, or CLP_TEXT_NONE or CLP_TEXT_CHANGED. `code` must be
 * without probes. `globals` are the module's, or NULL. `fresh` says that the module's loader has returned the code just
 * now. Never leaves an exception. */
uint32_t clp_text_search(struct clp_source_cache *texts, PyCodeObject *code, PyObject *globals, bool fresh);

/* Stores `text`, the `bytes` bytes of the file as they are now, as the text of the file, so that it is known whatever
 * happens to the file later. Returns false with an exception set. */
bool clp_text_search_know(struct clp_source_cache *texts, PyObject *file_name, const char *text, size_t bytes);

#endif
