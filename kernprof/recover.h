/* SPDX-License-Identifier: MIT */
/* `clineprof recover`: the live file of a run that did not end becomes a .lprof. */
#ifndef CLP_RECOVER_H
#define CLP_RECOVER_H

#include "../src/core/buf.h"
#include "../src/core/live.h"

/* argv[1] is "recover". Returns the exit code. */
int clp_recover_main(int argc, char **argv, struct clp_mem *mem);

/* "NAME: reason at byte N", complained about as the viewer. */
void clp_view_complain(const char *path, const struct clp_fault *fault, struct clp_mem *mem);

/* "process 42 did not end; .." as a line of text without its end: what a live file is worth. */
void clp_view_describe_live(const char *path, const struct clp_live_about *about,
                            struct clp_buf *out);

#endif
