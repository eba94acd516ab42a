/* SPDX-License-Identifier: MIT */
/* The options --heap=native and --tensors: the interpreter must have been started with a library of ours preloaded
 * (LD_PRELOAD), for each of them its own. So the process executes the interpreter again with the same command line and
 * these libraries, before anything else of the run happens. */
#ifndef CLP_NATIVERUN_H
#define CLP_NATIVERUN_H

#include "cli/options.h"

/* Makes sure that the libraries are preloaded that the options need. Does not return when the interpreter starts again.
 * False with SystemExit set when that of --heap=native cannot be used; without that of --tensors the run goes on. */
bool clp_nativerun_ready(const struct clp_run_options *options);

/* Makes sure that the library of --tensors is preloaded in a process that the program has started; --heap=native counts
 * in the first process alone. Nothing is said: where the library cannot be used, the process counts no tensors. `folder` is a descriptor of the folder
 * in which the interpreter starts again. False if it did not start. */
bool clp_nativerun_join(const struct clp_run_options *options, int folder);

/* Has the interpreter been started again? Warnings about the options were printed the first time. */
bool clp_nativerun_is_again(void);

#endif
