/* SPDX-License-Identifier: MIT */
/* The command `clineprof ab`: runs two programs in turn, several times each, and says what differs for certain. */
#ifndef CLP_AB_H
#define CLP_AB_H

#include "base/mem.h"

/* Runs the command; argv[1] is "ab". Returns the exit code: that of `clineprof diff`, or of a program that failed. */
int clp_ab_main(int argc, char **argv, struct clp_mem *mem);

#endif
