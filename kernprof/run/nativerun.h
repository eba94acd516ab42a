/* SPDX-License-Identifier: MIT */
/* The option --heap=native: the interpreter must have been started with a library of ours preloaded (LD_PRELOAD). So
 * the process executes the interpreter again with the same command line and that library, before anything else of the
 * run happens. */
#ifndef CLP_NATIVERUN_H
#define CLP_NATIVERUN_H

#include "cli/options.h"

/* Makes sure that the library is preloaded, if the options need it. Does not return when the interpreter starts again.
 * False with SystemExit set when the library cannot be used. */
bool clp_nativerun_ready(const struct clp_run_options *options);

/* Has the interpreter been started again? Warnings about the options were printed the first time. */
bool clp_nativerun_is_again(void);

#endif
