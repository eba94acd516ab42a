/* SPDX-License-Identifier: MIT */
/* Finds the text that a code object was compiled from, and keeps it (source_cache.h). It is looked for in:
 *
 *   texts given to exec(), eval(), compile()   where the code is what the text compiles to
 *   its file, now                              where the file was not changed while the program ran, or
 *                                              the code is what it compiles to
 *   the same file's texts of before            where the code is what one of them compiles to
 *   linecache                                  of code in no file: notebooks, doctest, attrs
 *   the loader of the module                   where the file is the loader's: a zip
 *
 * Threads: the interpreter's lock. Both functions run Python code, never within a change (change.h), and hold
 * references to what they need meanwhile. */
#ifndef CLP_TEXT_SEARCH_H
#define CLP_TEXT_SEARCH_H

#include "source_cache.h"

/* The number of the text that the code, as it was before probes, was compiled from; or CLP_TEXT_NONE,
 * CLP_TEXT_CHANGED. `globals` are the module's, or NULL. `fresh`: the module's loader has given the code just
 * now. Never leaves an exception. */
uint32_t clp_text_search(struct clp_source_cache *texts, PyCodeObject *code, PyObject *globals, bool fresh);

/* This is the text of the file, whatever becomes of the file: `bytes` bytes as they stand in it. False with
 * an exception set. */
bool clp_text_search_know(struct clp_source_cache *texts, PyObject *file_name, const char *text, size_t bytes);

#endif
