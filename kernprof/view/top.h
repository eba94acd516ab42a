/* SPDX-License-Identifier: MIT */
/* `clineprof top`: the lines that take most, in the terminal, once a second. It reads the live file
 * and asks nothing of the program. */
#ifndef CLP_TOP_H
#define CLP_TOP_H

#include "base/mem.h"

/* argv[1] is "top". Returns the exit code. */
int clp_top_main(int argc, char **argv, struct clp_mem *mem);

#endif
