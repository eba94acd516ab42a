/* SPDX-License-Identifier: MIT */
/* Text from elsewhere (source, names, paths, the contents of a foreign file) is escaped before it is shown, so
 * that it has no power over a terminal. Escaped are: bytes that are not UTF-8, control characters but the tab,
 * embeddings, overrides and isolates of direction (U+202A to U+202E, U+2066 to U+2069), and the line and
 * paragraph separators (U+2028, U+2029). Plain direction marks stay. All text that is printed passes
 * clp_escape_add. A text that passes it twice is the same as after the first time. */
#ifndef CLP_ESCAPE_H
#define CLP_ESCAPE_H

#include "buf.h"

/* Appends the text on one line. Each byte of a character that may not be shown becomes \xNN. */
void clp_escape_add(struct clp_buf *out, const char *text, size_t bytes);
void clp_escape_add_text(struct clp_buf *out, const char *text);

/* Appends a text of several lines. Line ends stay; each other byte that may not be shown becomes \xNN. */
void clp_escape_add_lines(struct clp_buf *out, const char *text);

/* Bytes of the well-formed UTF-8 character at text, 0 when there is none: no overlong forms, no
 * surrogates, nothing beyond U+10FFFF. */
size_t clp_escape_utf8_bytes(const unsigned char *text, size_t left);

/* The file's name relative to the folder, where the file lies under the folder; else `file` itself. A folder of
 * NULL or "" holds no file. The result points into `file`. */
const char *clp_escape_relative(const char *file, const char *folder);

/* Appends the file's name, escaped, as clp_escape_relative gives it. */
void clp_escape_add_file(struct clp_buf *out, const char *file, const char *folder);

/* The columns that an escaped text takes on a terminal: two for a wide character, none for a combining one. */
size_t clp_escape_width(const char *text, size_t bytes);

#endif
