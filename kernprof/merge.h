/* SPDX-License-Identifier: MIT */
/* Many files into one profile: for the viewer, and `clineprof merge`, which writes it. */
#ifndef CLP_MERGE_H
#define CLP_MERGE_H

#include "../src/core/profile.h"
#include <stdbool.h>

/* Adds each file to the sum. What is worth knowing of one (a run that goes on) is printed to
 * descriptor `notes`. False when a file was complained about; the sum then holds those before it. */
bool clp_merge_files(char *const *files, int count, int notes, struct clp_profile *sum);

/* argv[1] is "merge". Returns the exit code. */
int clp_merge_main(int argc, char **argv, struct clp_mem *mem);

#endif
