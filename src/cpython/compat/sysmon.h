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

/* Registers callbacks of the tool: functions with `self`, which may be NULL, each for the event that its ml_name names.
 * *events becomes the set of these events. Returns false with an exception set; some may be registered then. */
bool clp_sysmon_register(int tool, PyMethodDef *handlers, size_t count, PyObject *self, long *events);

/* Removes these callbacks and gives the id back. Leaves no exception. */
void clp_sysmon_free(int tool, const PyMethodDef *handlers, size_t count);

#endif

#endif
