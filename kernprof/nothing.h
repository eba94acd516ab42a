/* SPDX-License-Identifier: MIT */
/* A run that profiled nothing: no profile is written, an earlier one of that name stays as it is, and one line
 * says why and what to do. */
#ifndef CLP_NOTHING_H
#define CLP_NOTHING_H

#include "finish.h"

/* Is the run's profile left unwritten when there is nothing in it? One that goes to a pipe or a device is
 * written even then, for somebody may wait for it. */
bool clp_nothing_is_kept_back(const struct clp_run *run);

/* The reason, where there is nothing in the profile. */
void clp_nothing_say(const struct clp_run *run, const struct clp_profile *profile);

/* The same where functions were to be profiled by cProfile. */
void clp_nothing_say_of_calls(const struct clp_run *run);

/* That selected functions did not run here, but may have in processes that the program started. */
void clp_nothing_hint_at_children(const struct clp_run *run, const struct clp_profile *profile);

/* That options of ckernprof stand behind the program, which cannot do anything with them. `empty`: nothing was
 * profiled. */
void clp_nothing_hint_at_words(const struct clp_run *run, bool empty);

#endif
