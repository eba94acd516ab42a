/* SPDX-License-Identifier: MIT */
/* Everything that comes from the profiled program (source, names, the tracer's name in a foreign
 * file) is shown with control characters escaped, so that no profile can play with a terminal. */
#ifndef CLP_SHOWN_H
#define CLP_SHOWN_H

#include "buf.h"

/* Appends text of the program: what is no UTF-8, and what terminals obey, as \xNN. */
void clp_shown_add(struct clp_buf *out, const char *text, size_t bytes);

/* Bytes of the well-formed UTF-8 character at text, 0 when there is none: no overlong forms, no
 * surrogates, nothing beyond U+10FFFF. */
size_t clp_shown_utf8_bytes(const unsigned char *text, size_t left);

/* Appends a file's name, relative to the folder where it lies under it. NULL: as it is. */
void clp_shown_add_file(struct clp_buf *out, const char *file, const char *folder);

/* The columns that shown text takes on a terminal: two for what is wide, none for what combines. */
size_t clp_shown_width(const char *text, size_t bytes);

#endif
