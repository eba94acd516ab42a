/* SPDX-License-Identifier: MIT */
/* Stores the source texts of selected code: whole files, and texts passed to exec(). Each text has a number, by which a
 * function says which text it was compiled from (text_search.h). A file that is edited and loaded again has two texts.
 *
 * Texts stay until the process ends, as functions do.
 *
 * Threads: the interpreter's lock. Nothing here runs Python code. A caller that runs Python code must look its texts up
 * by number again afterwards, because the array of texts may have moved. Two threads that find the same text store it
 * once. */
#ifndef CLP_SOURCE_CACHE_H
#define CLP_SOURCE_CACHE_H

#include "engine/functions.h"
#include "formats/live/live.h"
#include "profile/source.h"
#include "profile/texts.h"
#include "cpython/compat/compat.h"

/* Identifies one content of a file. */
struct clp_text_stamp {
    uint64_t device, inode, size;
    int64_t modified, changed; /* st_mtim and st_ctim, nanoseconds since 1970; no program can set `changed` back */
};

struct clp_text {
    PyObject *file;              /* owned str: the file name of the compiled code */
    PyObject *text;              /* owned bytes, UTF-8 */
    PyObject *keys;              /* owned: keys of all code that the text compiles to (code_keys.h); NULL: not known */
    int flags;                   /* features of __future__ with which `keys` were compiled */
    struct clp_text_stamp stamp; /* all zero: the text is not known to be the content of a file */
};

struct clp_source_cache {
    struct clp_mem *mem;   /* borrowed */
    struct clp_live *live; /* borrowed: the live file, to which each text is written */
    struct clp_text *items; /* owned; the text with number n is items[n - 1] */
    size_t count, room;
    enum clp_kept_source live_source; /* whose text goes into the live file */
    size_t generated_bytes; /* bytes of the texts that stand in no file */
    double began;           /* start of the process in seconds since 1970; 0: not known */
};

/* Initialises an empty cache for this process. `mem` and `live` must outlive it. */
void clp_source_cache_init(struct clp_source_cache *texts, struct clp_mem *mem, struct clp_live *live);

/* ---- by number ---- */

/* Returns the text with this number; NULL: no text has it. Valid until Python code runs or a text is added. */
struct clp_text *clp_source_cache_get(const struct clp_source_cache *texts, uint32_t number);

/* Returns the bytes of the text. Borrowed from text->text. */
struct clp_span clp_source_cache_span(const struct clp_text *text);

/* Returns the text as UTF-8, an owned bytes object. NULL, without an exception: no text has this number. */
PyObject *clp_source_cache_bytes(const struct clp_source_cache *texts, uint32_t number);

/* ---- by file: numbers, or CLP_TEXT_NONE ---- */

/* Returns the file's newest text. */
uint32_t clp_source_cache_newest(const struct clp_source_cache *texts, PyObject *file);

/* Returns the file's newest text with a number below `number`. */
uint32_t clp_source_cache_before(const struct clp_source_cache *texts, PyObject *file, uint32_t number);

/* Returns the file's text that equals `text`. */
uint32_t clp_source_cache_equal(const struct clp_source_cache *texts, PyObject *file, struct clp_span text);

/* Finds or adds the text `bytes`, UTF-8, of the file. Takes over the reference to `bytes`. Returns CLP_TEXT_NONE for
 * NULL, and when out of memory. */
uint32_t clp_source_cache_add(struct clp_source_cache *texts, PyObject *file, PyObject *bytes);

/* ---- for the live file and profiles ---- */

/* Writes the texts known so far to the live file, which was opened just now, unless `source` is CLP_SOURCE_NONE. Texts
 * that are added later are written when they are added. */
void clp_source_cache_tell_live(struct clp_source_cache *texts, enum clp_kept_source source);

/* Returns the text number for a function that is going to be added to `functions`. Where an earlier version of the
 * function has the same lines in its text, this is the number of the earlier text, so that both count as one function.
 * Returns CLP_TEXT_NONE from the 100th version on. */
uint32_t clp_source_cache_of_function(const struct clp_source_cache *texts, const struct clp_functions *functions,
                                      const struct clp_function *wanted);

/* Sets the source of every function of the profile whose text is known, as far as it is kept. The sources point into the texts. On
 * CLP_NO_MEMORY some have no source. */
clp_status clp_source_cache_fill(const struct clp_source_cache *texts, enum clp_kept_source kept,
                                 struct clp_profile *profile);

#endif
