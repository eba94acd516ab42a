/* SPDX-License-Identifier: MIT */
/* The texts of a file: each is there once, and a function says which part of a text is its own.
 *
 *   "texts": [ str, or { "bytes": int, "zlib": bin } .. ]     a longer text is compressed
 *   "files": [ { "file": str, "text": int } .. ]              texts that are the whole text of a file
 *   "text": [ text, start, bytes ]                            of a function
 *
 * A class and a module repeat the texts of the functions in them, so these are written as parts of the same text. One
 * text has the functions of one file, one after the other.
 *
 * A small file must not make a reader need much memory or time. So a text is compressed to a CLP_WIRE_MOST_RATIO-th of its
 * size at most, and all functions and files together have at most CLP_WIRE_MOST_PARTS bytes of text for each byte in
 * "texts", because a merge compares them and copies those of functions. What would be beyond is written less densely; a
 * file beyond is refused. Source text becomes a fifth, and a line is seldom in more than a module, a class and a method. */
#ifndef CLP_WIRE_TEXTS_H
#define CLP_WIRE_TEXTS_H

#include "wire_decoder.h"

#define CLP_WIRE_MOST_RATIO 16
#define CLP_WIRE_MOST_PARTS 8

/* Where the text of a function stands. */
struct clp_wire_place {
    size_t text;
    size_t start;
};

/* The texts of a file that is being written. */
struct clp_wire_texts {
    const struct clp_profile *profile; /* borrowed */
    struct clp_wire_place *places;     /* by function; those without source have none */
    size_t *wholes;                    /* by item of profile->texts: the number of the text, if it is a whole file's */
    struct clp_buf *texts;
    size_t count, room;
};

/* Sets out the texts of the profile, which must stay as it is. Afterwards call clp_wire_texts_clear in any case. */
clp_status clp_wire_texts_lay_out(struct clp_wire_texts *texts, const struct clp_profile *profile);
void clp_wire_texts_clear(struct clp_wire_texts *texts);

/* Writes the values of "texts" and "files". CLP_NO_MEMORY: they are not complete. */
clp_status clp_wire_texts_pack(const struct clp_wire_texts *texts, msgpack_packer *packer);
void clp_wire_texts_pack_files(const struct clp_wire_texts *texts, msgpack_packer *packer);

/* How many items "files" has. */
size_t clp_wire_texts_files(const struct clp_wire_texts *texts);

/* Read an item of "texts", an item of "files", and the "text" of a function. Texts come first. */
clp_status clp_wire_read_text(struct clp_decoder *decoder, struct clp_wire_span span);
clp_status clp_wire_read_file(struct clp_decoder *decoder, struct clp_wire_span span);
clp_status clp_wire_read_place(struct clp_decoder *decoder, struct clp_wire_span span,
                               struct clp_profile_function *function);

#endif
