/* SPDX-License-Identifier: MIT */
/* What comes from elsewhere (source, names, paths, what a foreign file says) is shown so that it has no power
 * over a terminal: nothing that is not UTF-8, no control character but the tab, no embeddings, overrides and
 * isolates of direction (U+202A to U+202E, U+2066 to U+2069), no line or paragraph separator (U+2028,
 * U+2029); plain direction marks stay. All text that is printed passes clp_escape_add; what passes twice
 * stays as it was. */
#ifndef CLP_ESCAPE_H
#define CLP_ESCAPE_H

#include "buf.h"

/* Appends the text on one line; each byte of what may not be shown as \xNN. */
void clp_escape_add(struct clp_buf *out, const char *text, size_t bytes);
void clp_escape_add_text(struct clp_buf *out, const char *text);

/* Appends a text of lines, with what may not be shown as \xNN; the ends of lines stay. */
void clp_escape_add_lines(struct clp_buf *out, const char *text);

/* Bytes of the well-formed UTF-8 character at text, 0 when there is none: no overlong forms, no
 * surrogates, nothing beyond U+10FFFF. */
size_t clp_escape_utf8_bytes(const unsigned char *text, size_t left);

/* The part of a file's name that is relative to the folder, where it lies under it. NULL: as it is. */
const char *clp_escape_relative(const char *file, const char *folder);

/* Appends that. */
void clp_escape_add_file(struct clp_buf *out, const char *file, const char *folder);

/* The columns that shown text takes on a terminal: two for what is wide, none for what combines. */
size_t clp_escape_width(const char *text, size_t bytes);

#endif
