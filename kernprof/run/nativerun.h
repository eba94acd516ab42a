/* SPDX-License-Identifier: MIT */
/* --heap=native in a run: the interpreter must have been started with a library before all others.
 * It is started again for that, by the very words it was started with, before anything else of the
 * run happens; the process stays the same. */
#ifndef CLP_NATIVERUN_H
#define CLP_NATIVERUN_H

#include "cli/options.h"

/* May the run go on? False with SystemExit set when not; does not return when the interpreter starts
 * again. */
bool clp_nativerun_ready(const struct clp_run_options *options);

/* Has the interpreter started again? What there was to say of the options has been said. */
bool clp_nativerun_is_again(void);

#endif
