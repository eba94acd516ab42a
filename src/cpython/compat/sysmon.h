/* SPDX-License-Identifier: MIT */
/* Calls of sys.monitoring (CPython 3.12 and newer). */
#ifndef CLP_SYSMON_H
#define CLP_SYSMON_H

#include "compat.h"

#if CLP_HAS_MONITORING

/* sys.monitoring.NAME(..) without a result; `format` makes the tuple of arguments. False with an
 * exception set. */
bool clp_sysmon_call(const char *name, const char *format, ...);

/* The bit of an event; -1 with an exception set. */
long clp_sysmon_event(const char *name);

/* Tools have the ids 0 to 5. */
#define CLP_TOOL_IDS 6

/* Has somebody else this id? */
bool clp_sysmon_is_foreign(int tool);

/* Takes the first of these tool ids, ended by -1, that is free; -1 with an exception set. */
int clp_sysmon_take(const int *wanted);

#endif

#endif
