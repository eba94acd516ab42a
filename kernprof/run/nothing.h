/* SPDX-License-Identifier: MIT */
/* A run that profiled nothing: no profile is written, an earlier one of that name stays as it is, and one line
 * says why and what to do. */
#ifndef CLP_NOTHING_H
#define CLP_NOTHING_H

#include "session.h"

/* Is the run's profile left unwritten when there is nothing in it? One that goes to a pipe or a device is
 * written even then, for somebody may wait for it. */
bool clp_nothing_is_kept_back(const struct clp_run *run);

/* Where nothing is in the profile, the reason and what to do. Else what may have been forgotten: child processes,
 * options that stand behind the program. */
void clp_nothing_say(const struct clp_run *run, const struct clp_profile *profile);

/* Says why a run in which cProfile counted functions has no profile. */
void clp_nothing_say_of_calls(const struct clp_run *run, bool empty);

#endif
