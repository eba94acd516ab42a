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

/* Below the report, which ends with the leaks: says that there are none. */
void clp_leakrun_print(const struct clp_run_options *options, const struct clp_profile *profile);

/* What is to be told of what was counted: hooks or epochs that were missing. */
void clp_leakrun_say(const struct clp_run_options *options, PyObject *profiler);

/* --fail-on-leak: names the lines, and has the process exit 3 unless it fails by itself. */
void clp_leakrun_gate(const struct clp_run_options *options, const struct clp_profile *profile);

#endif
