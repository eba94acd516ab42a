/* SPDX-License-Identifier: MIT */
/* The command `clineprof callers`: prints who calls a function, from which lines, and whom it calls. */
#ifndef CLP_CALLERS_H
#define CLP_CALLERS_H

#include "base/mem.h"

/* Runs the command; argv[1] is "callers". Returns the exit code. */
int clp_callers_main(int argc, char **argv, struct clp_mem *mem);

#endif
