/* SPDX-License-Identifier: MIT */
/* The command `clineprof recover`: writes a .lprof file from the live file of a run that did not end by itself. */
#ifndef CLP_RECOVER_H
#define CLP_RECOVER_H

#include "base/mem.h"

/* Runs the command; argv[1] is "recover". Returns the exit code. */
int clp_recover_main(int argc, char **argv, struct clp_mem *mem);

#endif
