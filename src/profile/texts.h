/* SPDX-License-Identifier: MIT */
/* The texts of a profile: the sources of its functions, and the whole texts of files.
 *
 * A source is the function's own copy, or points into one of profile->texts, which stay until the profile is cleared, or
 * into a text that lives longer. */
#ifndef CLP_TEXTS_H
#define CLP_TEXTS_H

#include "profile.h"

/* Whole texts of files are kept up to this many bytes together (64 MiB); of files beyond it only the functions are. */
#define CLP_MOST_WHOLE_TEXTS ((size_t)64 << 20)

/* Whose text a profile has. */
enum clp_kept_source {
    CLP_SOURCE_FUNCTIONS, /* that of the selected functions */
    CLP_SOURCE_FILES,     /* that of each file with a selected function */
    CLP_SOURCE_NONE,
    CLP_SOURCE_MODES
};

/* Returns the mode of this name: "functions", "files" or "none"; CLP_SOURCE_MODES for another name. */
enum clp_kept_source clp_kept_source_named(const char *name);

/* Replaces the function's source by a copy of `text`, which may hold any bytes. 0 bytes mean that the function has no
 * source. CLP_NO_MEMORY leaves the function as it was. */
clp_status clp_profile_set_source(struct clp_profile *profile, struct clp_profile_function *function,
                                  const char *text, size_t bytes);

/* As clp_profile_set_source, but without a copy: the text must live as long as the profile. */
void clp_profile_lend_source(struct clp_profile *profile, struct clp_profile_function *function, struct clp_span text);

/* Sets out on a walk along `text`, which functions of the file were compiled from: for clp_profile_find_source. Keeps
 * the text as that of a whole file if `kept` says so. After CLP_NO_MEMORY the walk can be used, too. */
clp_status clp_profile_begin_text(struct clp_profile *profile, enum clp_kept_source kept, const char *file,
                                  struct clp_span text, struct clp_source_walk *walk);

/* Returns the function's part of the file's text, walk->text: the function's block, extended to the last line that has
 * measures. Use the same walk for the next function of the file. */
struct clp_span clp_profile_find_source(const struct clp_profile_function *function, struct clp_source_walk *walk);

/* Appends a text. On success the profile owns text->text, unless it is borrowed, and has a copy of text->file.
 * CLP_NO_MEMORY leaves the profile as it was. */
clp_status clp_profile_add_text(struct clp_profile *profile, const struct clp_profile_text *text);

/* Keeps a copy of the whole text of a file, which files with equal texts share. Does nothing if the text would come
 * above CLP_MOST_WHOLE_TEXTS, or if an earlier call has kept it. CLP_NO_MEMORY: the profile can be used. */
clp_status clp_profile_keep_file(struct clp_profile *profile, const char *file, struct clp_span text);

#endif
