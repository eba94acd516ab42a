/* SPDX-License-Identifier: MIT */
/* The texts that the program handed to exec(), eval() and compile() lately. Nowhere else is the source
 * of generated code to be had: dataclasses, templates, code from a string.
 *
 * Copies of the newest texts are kept in memory of the profiler's own, of a fixed size; a text that is larger
 * than a quarter of it is not kept.
 *
 * Threads: the interpreter's lock. Nothing here runs Python code. */
#ifndef CLP_COMPILED_H
#define CLP_COMPILED_H

#include "os/pages.h"
#include "profile/source.h"
#include "cpython/compat/compat.h"

/* Keeps a copy of `source`, a str, bytes or a bytearray, in memory of `pages`. `file` is the name that its code
 * has: a str or bytes, NULL for "<string>"; of another object the name would be asked for by Python code, so
 * nothing is kept. Never leaves an exception. */
void clp_compiled_keep(struct clp_pages *pages, PyObject *file, PyObject *source);

struct clp_compiled_text {
    const char *file; /* the name that the code has; UTF-8 */
    struct clp_span text;
    bool is_bytes; /* it was given as bytes, in the encoding that it declares; else it is UTF-8 */
};

/* The newest text before place *at; false when there is none left. *at is SIZE_MAX at first, and then what
 * the last call left: what was kept or dropped between two calls makes none be left out, but some come
 * twice. What it points to is good until code of Python's runs. */
bool clp_compiled_before(size_t *at, struct clp_compiled_text *text);

#endif
