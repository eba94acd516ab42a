/* SPDX-License-Identifier: MIT */
/* `clineprof diff`: what changed between two profiles, or two sides of several; and limits on it. */
#ifndef CLP_DIFF_H
#define CLP_DIFF_H

#include "base/mem.h"

enum { CLP_DIFF_PASSED = 0, CLP_DIFF_FAILED = 1, CLP_DIFF_USAGE = 2, CLP_DIFF_BROKEN = 3 };

/* argv[1] is "diff". Returns the exit code. */
int clp_diff_main(int argc, char **argv, struct clp_mem *mem);

#endif
