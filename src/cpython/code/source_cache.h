/* SPDX-License-Identifier: MIT */
/* Source texts of selected code: whole files, and what was given to exec(). A text has a number, so that
 * each function can say which one it was compiled from (text_search.h): a file that is edited and loaded again
 * has two.
 *
 * Texts stay as long as the process: functions do, too.
 *
 * Threads: the interpreter's lock. Nothing here runs Python code. Whoever runs some looks texts up by their
 * numbers anew, for the store may have moved. Two threads that find the same text keep it once. */
#ifndef CLP_SOURCE_CACHE_H
#define CLP_SOURCE_CACHE_H

#include "engine/functions.h"
#include "formats/live/live.h"
#include "profile/profile.h"
#include "profile/source.h"
#include "cpython/compat/compat.h"

/* Which content of a file it was. */
struct clp_text_stamp {
    uint64_t device, inode, size;
    int64_t modified, changed; /* nanoseconds since 1970; the latter by anybody, and never set back */
};

struct clp_text {
    PyObject *file;              /* owned str: the name that the code has */
    PyObject *text;              /* owned bytes, UTF-8 */
    PyObject *keys;              /* owned: of the code that it compiles to (code_keys.h); NULL: not known yet */
    int flags;                   /* features of __future__ that they were compiled with */
    struct clp_text_stamp stamp; /* zeroes: it is not known to be a file's content */
};

struct clp_source_cache {
    struct clp_mem *mem;   /* borrowed */
    struct clp_live *live; /* borrowed: the live file, which is told of each text */
    struct clp_text *items; /* owned; number 1 is the first */
    size_t count, room;
    size_t generated_bytes; /* of texts that stand in no file */
    double began;           /* the process did, in seconds since 1970; 0: not known */
};

/* Empty, of this process. */
void clp_source_cache_init(struct clp_source_cache *texts, struct clp_mem *mem, struct clp_live *live);

/* ---- by number ---- */

/* NULL for what is none. Good until Python code runs or a text is added. */
struct clp_text *clp_source_cache_get(const struct clp_source_cache *texts, uint32_t number);

struct clp_span clp_source_cache_span(const struct clp_text *text);

/* The text as UTF-8: owned bytes; NULL, without an exception, for what is none. */
PyObject *clp_source_cache_bytes(const struct clp_source_cache *texts, uint32_t number);

/* ---- by file: numbers, or CLP_TEXT_NONE ---- */

uint32_t clp_source_cache_newest(const struct clp_source_cache *texts, PyObject *file);

/* The newest before this number. */
uint32_t clp_source_cache_before(const struct clp_source_cache *texts, PyObject *file, uint32_t number);

/* The one that says the same. */
uint32_t clp_source_cache_equal(const struct clp_source_cache *texts, PyObject *file, struct clp_span text);

/* The one of these bytes, UTF-8, which is added unless it is there. Takes them; NULL, and want of memory, give
 * CLP_TEXT_NONE. */
uint32_t clp_source_cache_add(struct clp_source_cache *texts, PyObject *file, PyObject *bytes);

/* ---- for the live file and profiles ---- */

/* The texts known so far go to the live file, as later ones do by themselves. */
void clp_source_cache_tell_live(const struct clp_source_cache *texts);

/* The number of the text of a function that is to be added to these. Where an earlier text has the same lines
 * for the function, it is the number of that one, so that both count as one function. CLP_TEXT_NONE from the
 * 100th version on. */
uint32_t clp_source_cache_of_function(const struct clp_source_cache *texts, const struct clp_functions *functions,
                                      const struct clp_function *wanted);

/* Gives every function of the profile its lines. CLP_NO_MEMORY: some have none. */
clp_status clp_source_cache_fill(const struct clp_source_cache *texts, struct clp_profile *profile);

#endif
