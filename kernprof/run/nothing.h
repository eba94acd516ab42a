/* SPDX-License-Identifier: MIT */
/* The end of a run that profiled nothing: no profile is written, an earlier profile of that name stays as it is, and
 * one line says why and what to do. */
#ifndef CLP_NOTHING_H
#define CLP_NOTHING_H

#include "session.h"

/* Is an empty profile of this run left unwritten? A profile that goes to a pipe or a device is always written, as a
 * reader may wait for it. */
bool clp_nothing_is_kept_back(const struct clp_run *run);

/* If the profile is empty, tells why and what to do. If not, hints at what the user may have forgotten: child
 * processes, or options that stand behind the program. */
void clp_nothing_say(const struct clp_run *run, const struct clp_profile *profile);

/* Does the same for a run without -l, in which cProfile counts functions. */
void clp_nothing_say_of_calls(const struct clp_run *run, bool empty);

#endif
