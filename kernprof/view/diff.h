/* SPDX-License-Identifier: MIT */
/* The command `clineprof diff`: compares two profiles, or two sides of several profiles each, and checks limits on the
 * changes. */
#ifndef CLP_DIFF_H
#define CLP_DIFF_H

#include "base/mem.h"

enum { CLP_DIFF_PASSED = 0, CLP_DIFF_FAILED = 1, CLP_DIFF_USAGE = 2, CLP_DIFF_BROKEN = 3 };

/* Runs the command; argv[1] is "diff". Returns the exit code, one of the above. */
int clp_diff_main(int argc, char **argv, struct clp_mem *mem);

#endif
