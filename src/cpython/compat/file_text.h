/* SPDX-License-Identifier: MIT */
/* Decodes source files: turns their bytes, in the encoding that they declare, into UTF-8. Runs Python code, because
 * codecs may be written in Python.
 *
 * Threads: nothing is kept here. */
#ifndef CLP_FILE_TEXT_H
#define CLP_FILE_TEXT_H

#include "compat.h"

/* Returns the bytes of a source file (PEP 263) as UTF-8. Bytes that cannot be decoded become \xNN. Owned bytes; NULL
 * with an exception set. */
PyObject *clp_file_text_decode(const char *bytes, size_t count);

/* Returns the text of a plain file as UTF-8, owned bytes. NULL without an exception where there is no such file or it
 * cannot be read; NULL with an exception only when out of memory, or for Ctrl-C. */
PyObject *clp_file_text_read(PyObject *file_name);

#endif
