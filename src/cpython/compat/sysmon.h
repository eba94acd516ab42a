/* SPDX-License-Identifier: MIT */
/* Calls sys.monitoring (CPython 3.12 and newer). */
#ifndef CLP_SYSMON_H
#define CLP_SYSMON_H

#include "compat.h"

#if CLP_HAS_MONITORING

/* Calls sys.monitoring.NAME and drops the result. `format` and what follows build the tuple of arguments as for
 * Py_BuildValue. Returns false with an exception set. */
bool clp_sysmon_call(const char *name, const char *format, ...);

/* Returns the bit of the event sys.monitoring.events.NAME; -1 with an exception set. */
long clp_sysmon_event(const char *name);

/* The number of tool ids: tools have the ids 0 to 5. */
#define CLP_TOOL_IDS 6

/* Does another tool hold this id? Leaves no exception. */
bool clp_sysmon_is_foreign(int tool);

/* Takes the first free one of the tool ids in `wanted`, a list ended by -1, and returns it. Returns -1 with an
 * exception set when none is free. */
int clp_sysmon_take(const int *wanted);

#endif

#endif
