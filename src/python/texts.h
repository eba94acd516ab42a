/* SPDX-License-Identifier: MIT */
/* The source of selected functions, as it was when they were selected: whole files, as UTF-8, kept
 * in a dict by file name. */
#ifndef CLP_TEXTS_H
#define CLP_TEXTS_H

#include "../core/live.h"
#include "../core/profile.h"
#include "compat.h"

/* Remembers the text of the code's file: from disk, or else as linecache (notebooks) or the loader
 * in these globals (zip files) has it. A file that cannot be had is remembered as None. Imports
 * nothing. False with an exception set only when memory ran out. */
bool clp_texts_note(PyObject *texts, PyObject *file_name, PyObject *globals);

/* From now on each new text goes to the live file, too; `live` must outlive the texts. False with an
 * exception set. */
bool clp_texts_set_live(PyObject *texts, struct clp_live *live);

/* Remembers this as the text of the file, whatever becomes of the file: `bytes` bytes as they stand in
 * it. False with an exception set. */
bool clp_texts_know(PyObject *texts, PyObject *file_name, const char *text, size_t bytes);

/* A plain file's text as UTF-8: owned bytes, or NULL with an exception only for want of memory. */
PyObject *clp_texts_read(PyObject *file_name);

/* Gives every function of the profile its lines. CLP_NO_MEMORY: some have none. */
clp_status clp_texts_fill(PyObject *texts, struct clp_profile *profile);

#endif
