/* SPDX-License-Identifier: MIT */
/* `clineprof recover`: the live file of a run that did not end becomes a .lprof. */
#ifndef CLP_RECOVER_H
#define CLP_RECOVER_H

#include "base/mem.h"

/* argv[1] is "recover". Returns the exit code. */
int clp_recover_main(int argc, char **argv, struct clp_mem *mem);

#endif
