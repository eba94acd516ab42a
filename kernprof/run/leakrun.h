/* SPDX-License-Identifier: MIT */
/* --heap, --leaks and --fail-on-leak in a run. */
#ifndef CLP_LEAKRUN_H
#define CLP_LEAKRUN_H

#include "profile/profile.h"
#include "cpython/compat/compat.h"
#include "cli/options.h"

/* Are there to be verdicts? A gate needs them. */
bool clp_leakrun_wanted(const struct clp_run_options *options);

/* The profiler of a run by lines, as the options want it; NULL with an exception set. */
PyObject *clp_leakrun_profiler(PyObject *profiler_type, const struct clp_run_options *options);

/* What is to be told of what was counted: hooks or memory that were missing. */
void clp_leakrun_say(const struct clp_run_options *options, PyObject *profiler);

/* Says where there can be no verdict. --fail-on-leak: names the lines that leak, and has the process exit 3 unless
 * it fails by itself, also where there is no verdict. */
void clp_leakrun_judge(const struct clp_run_options *options, PyObject *profiler,
                       const struct clp_profile *profile);

#endif
