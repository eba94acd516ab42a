/* SPDX-License-Identifier: MIT */
/* Reads a profile of any kind that clineprof knows: its own file, the live file of a run, and
 * line_profiler's pickle. The first bytes tell which it is. */
#ifndef CLP_READING_H
#define CLP_READING_H

#include "base/buf.h"
#include "formats/live/live_reader.h"
#include "profile/profile.h"

/* Reads the file ("-": standard input) into an initialised, empty profile. What is worth knowing of
 * it, if it is live, is appended to `notes`, a line without its end, or complained about; NULL keeps
 * quiet. `in_place`: a file of ours is read as clp_wire_decode_in_place reads it. On failure the profile
 * is empty again and *fault says where and why. */
clp_status clp_reading_file(const char *path, bool in_place, struct clp_profile *profile,
                            struct clp_buf *notes, struct clp_fault *fault);

/* Reads the file as clp_reading_file does, and adds it to the sum, which is as it was when the
 * file cannot be read. */
clp_status clp_reading_merge(const char *path, struct clp_profile *sum, struct clp_buf *notes,
                             struct clp_fault *fault);

/* False when standard input is named twice, or is a terminal; that has been told. */
bool clp_reading_check_names(char *const *names, int count);

/* Reads the text that functions lack from the files they name. Such a name is the word of a foreign
 * file, so nothing is taken but the block at a function's first line, where that defines a function
 * of its name and holds all of its lines; one complaint counts what is left out. CLP_NO_MEMORY: some
 * functions may have theirs. */
clp_status clp_reading_add_sources(struct clp_profile *profile);

/* Appends a line for the report's end when functions lack text that a file might have. */
void clp_reading_note_sources(const struct clp_profile *profile, struct clp_buf *out);

/* Appends "NAME: reason at byte N", and where the profile may be instead. */
void clp_reading_add_fault(const char *path, const struct clp_fault *fault, struct clp_buf *out);

/* Complains as the viewer, with the text of clp_reading_add_fault. */
void clp_reading_complain(const char *path, const struct clp_fault *fault, struct clp_mem *mem);

/* "process 42 did not end; .." as a line of text without its end: what a live file is worth. */
void clp_reading_describe_live(const char *path, const struct clp_live_about *about,
                               struct clp_buf *out);

#endif
