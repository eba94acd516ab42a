/* SPDX-License-Identifier: MIT */
/* Many files into one profile: for the viewer, and `clineprof merge`, which writes it. */
#ifndef CLP_MERGE_H
#define CLP_MERGE_H

#include "profile/profile.h"
#include <stdbool.h>

/* Adds each file to the sum. What is worth knowing of one (a run that goes on) is printed to
 * descriptor `notes`. False when a file was complained about; the sum then holds those before it. */
bool clp_merge_files(char *const *files, int count, int notes, struct clp_profile *sum);

/* Reads a single file whose lines are only to be read (clp_wire_decode_in_place); notes go to descriptor `notes`.
 * False when it was complained about; the profile is then empty. */
bool clp_merge_file_in_place(const char *file, int notes, struct clp_profile *profile);

/* argv[1] is "merge". Returns the exit code. */
int clp_merge_main(int argc, char **argv, struct clp_mem *mem);

#endif
