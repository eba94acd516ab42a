/* SPDX-License-Identifier: MIT */
/* The options --heap, --leaks and --fail-on-leak of a run. */
#ifndef CLP_LEAKRUN_H
#define CLP_LEAKRUN_H

#include "profile/profile.h"
#include "cpython/compat/compat.h"
#include "cli/options.h"

/* Are leak verdicts wanted? Both --leaks and --fail-on-leak need them. */
bool clp_leakrun_wanted(const struct clp_run_options *options);

/* Makes the Profiler of a run with -l, as the options say. A new reference, or NULL with an exception set. */
PyObject *clp_leakrun_profiler(PyObject *profiler_type, const struct clp_run_options *options);

/* Warns when the counts of live blocks are incomplete: the hooks of the allocators were lost, or memory ran out. */
void clp_leakrun_say(const struct clp_run_options *options, PyObject *profiler);

/* Tells when there is no verdict on leaks, and why. With --fail-on-leak it also names the lines that leak. When a line
 * leaks, or there is no verdict, --fail-on-leak ends the process with 3, unless the program itself fails. */
void clp_leakrun_judge(const struct clp_run_options *options, PyObject *profiler,
                       const struct clp_profile *profile);

#endif
