/* SPDX-License-Identifier: MIT */
/* Keeps the texts that the program passed to exec(), eval() and compile() last. The source of generated code
 * (dataclasses, templates, code from a string) can be found nowhere else.
 *
 * Copies of the newest texts are kept in memory of the profiler's own, of a fixed size. A text that is larger than a
 * quarter of this memory is not kept.
 *
 * Threads: the interpreter's lock. Nothing here runs Python code. */
#ifndef CLP_COMPILED_H
#define CLP_COMPILED_H

#include "os/pages.h"
#include "profile/source.h"
#include "cpython/compat/compat.h"

/* Keeps a copy of `source`, a str, bytes or bytearray, in memory from `pages`. `file` is the file name of the compiled
 * code: a str or bytes; NULL means "<string>". Nothing is kept for any other object, because Python code would have to
 * run to get its name. Never leaves an exception. */
void clp_compiled_keep(struct clp_pages *pages, PyObject *file, PyObject *source);

struct clp_compiled_text {
    const char *file; /* the file name of the compiled code; UTF-8 */
    struct clp_span text;
    bool is_bytes; /* the text was passed as bytes, in the encoding that it declares; otherwise it is UTF-8 */
};

/* Goes through the texts from the newest to the oldest: sets *text to the newest one before *at. Returns false when
 * none is left. *at is SIZE_MAX for the first call, and afterwards the value that the last call left. If texts are
 * kept or dropped between two calls, none is left out, but some may come twice. *text is borrowed and valid until
 * Python code runs. */
bool clp_compiled_before(size_t *at, struct clp_compiled_text *text);

#endif
