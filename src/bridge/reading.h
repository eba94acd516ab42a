/* SPDX-License-Identifier: MIT */
/* Reads a profile of any kind that clineprof knows: a .lprof file, the live file of a run, and line_profiler's
 * pickle. The first bytes tell the kind. */
#ifndef CLP_READING_H
#define CLP_READING_H

#include "base/buf.h"
#include "formats/live/live_reader.h"
#include "profile/profile.h"

/* Reads the file ("-": standard input) into an initialised, empty profile. With `notes`, the state of a live
 * file is appended to it, as a line without its end; and stderr is told when a live file beside a profile is
 * newer than the profile. `notes` may be NULL. `in_place`: a .lprof file is read by clp_wire_decode_in_place.
 * On failure the profile is empty again, and *fault says where and why. */
clp_status clp_reading_file(const char *path, bool in_place, struct clp_profile *profile,
                            struct clp_buf *notes, struct clp_fault *fault);

/* False when standard input is named twice, or is a terminal; stderr has been told. */
bool clp_reading_check_names(char *const *names, int count);

/* Reads the text of functions that have none from the files that they name. These names may come from a foreign
 * file, so nothing is read but the block at a function's first line, and only if the block defines a function
 * of that name and holds all of the function's lines. One message on stderr counts the functions that are left
 * out. On CLP_NO_MEMORY some functions may have got their text. */
clp_status clp_reading_add_sources(struct clp_profile *profile);

/* Appends a line for the end of a report when functions lack text that a file might have. */
void clp_reading_note_sources(const struct clp_profile *profile, struct clp_buf *out);

/* Appends "NAME: reason at byte N", and where the profile may be instead, if there is a live file or another
 * tool made the file. */
void clp_reading_add_fault(const char *path, const struct clp_fault *fault, struct clp_buf *out);

/* Writes what clp_reading_add_fault says to stderr, in the viewer's name. */
void clp_reading_complain(const char *path, const struct clp_fault *fault, struct clp_mem *mem);

/* Say in one line, if parts of a damaged file were left out, which one was the first and how many there are. Append it to
 * *out, without a line end; or write it to stderr, in the viewer's name. */
void clp_reading_add_left_out(const char *path, const struct clp_profile *profile, struct clp_buf *out);
void clp_reading_say_left_out(const char *path, const struct clp_profile *profile);

/* Appends what a live file is worth, such as "PATH: process 42 did not end by itself", without a line end. `profile` is
 * what was read from it. */
void clp_reading_describe_live(const char *path, const struct clp_live_about *about,
                               const struct clp_profile *profile, struct clp_buf *out);

#endif
