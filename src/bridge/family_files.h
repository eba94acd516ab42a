/* SPDX-License-Identifier: MIT */
/* Finds the files that the processes of one run have left, if the first process was killed: their live files, and the sum of
 * those that had ended before (kernprof/run/processes/family.h). They are in one folder. */
#ifndef CLP_FAMILY_FILES_H
#define CLP_FAMILY_FILES_H

#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>

struct clp_family_files {
    struct clp_mem *mem; /* borrowed */
    struct clp_buf first;  /* the path of the live file of the process that the run began with; "": it is not there */
    struct clp_buf others; /* the other paths, each ended by 0 */
    char **items;          /* owned: all paths, the first process's before the others */
    size_t count;
};

/* Finds the family's files by one of its live files. Their count is 0 if the path is no such file, 1 if it is the only one.
 * Files count only if they belong to the owner of that file, to the user that its process has become, or to root. Without
 * memory none are found. */
void clp_family_files_find(struct clp_family_files *files, const char *path, struct clp_mem *mem);
void clp_family_files_clear(struct clp_family_files *files);

/* Is this path, by which they were found, the first process's file, and are there others? */
bool clp_family_files_lead(const struct clp_family_files *files, const char *path);

/* Appends the number of other files, as "8 files of its child processes". */
void clp_family_files_add_count(const struct clp_family_files *files, struct clp_buf *out);

/* Appends "; to join them run: clineprof recover FILE", with `first`, the path of the first process's file. */
void clp_family_files_add_command(const char *first, struct clp_buf *out);

#endif
