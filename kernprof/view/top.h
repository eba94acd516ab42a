/* SPDX-License-Identifier: MIT */
/* The command `clineprof top`: shows the hottest lines of a running program in the terminal, once a second. It reads
 * the live file; the program takes no part in that. */
#ifndef CLP_TOP_H
#define CLP_TOP_H

#include "base/mem.h"

/* Runs the command; argv[1] is "top". Returns the exit code. */
int clp_top_main(int argc, char **argv, struct clp_mem *mem);

#endif
