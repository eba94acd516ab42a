/* SPDX-License-Identifier: MIT */
/* The texts that the program handed to exec(), eval() and compile() lately. Nowhere else is the source
 * of generated code to be had: dataclasses, templates, code from a string.
 *
 * The C functions within the three built-ins are exchanged while there is a window, so nothing else in
 * the program is slowed. Copies of the newest texts are kept in memory of the profiler's own, of a
 * fixed size; a text that is larger than a quarter of it is not kept.
 *
 * Threads: the interpreter's lock. Nothing here runs Python code, and a C function that was exchanged stays
 * known for the calls that are within ours when it is given back. */
#ifndef CLP_COMPILED_H
#define CLP_COMPILED_H

#include "../core/source.h"
#include "compat.h"

struct clp_recorder;

/* Watches the built-ins from now on; nothing is watched twice. */
void clp_compiled_open(struct clp_recorder *recorder);
void clp_compiled_close(void);

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
