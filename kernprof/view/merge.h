/* SPDX-License-Identifier: MIT */
/* Adds several files up to one profile, for the viewer and for the command `clineprof merge`. */
#ifndef CLP_MERGE_H
#define CLP_MERGE_H

#include "profile/profile.h"
#include <stdbool.h>

/* Adds the files to the sum; each process counts once (formats/lprof/dedupe_processes.h). If the only file is the live file
 * of the first process of a run, the files of the others are added, too (bridge/family_files.h). A note about a file, such
 * as that its run still goes on, is printed to the descriptor `notes`; 0: none. False after a complaint about a file; the
 * sum then holds the files before it. */
bool clp_merge_files(char *const *files, int count, int notes, struct clp_profile *sum);

/* Reads a single file into a profile whose lines stay in the file's bytes (clp_wire_decode_in_place), so they can be
 * read but not merged; a file with a family is read as by clp_merge_files. A note is printed to the descriptor `notes`.
 * False after a complaint; the profile is then empty. */
bool clp_merge_file_in_place(const char *file, int notes, struct clp_profile *profile);

/* Runs the command; argv[1] is "merge". Returns the exit code. */
int clp_merge_main(int argc, char **argv, struct clp_mem *mem);

#endif
