/* SPDX-License-Identifier: MIT */
/* What source files say: their bytes, in the encoding that they declare, as UTF-8. Codecs are code of Python's.
 *
 * Threads: nothing is kept here. */
#ifndef CLP_FILE_TEXT_H
#define CLP_FILE_TEXT_H

#include "compat.h"

/* The text that these bytes are when they stand in a source file (PEP 263). Those that cannot be decoded are
 * shown as \xNN. Owned bytes; NULL with an exception set. */
PyObject *clp_file_text_decode(const char *bytes, size_t count);

/* A plain file's text. Owned bytes; NULL with an exception only for want of memory, or Ctrl-C. */
PyObject *clp_file_text_read(PyObject *file_name);

#endif
