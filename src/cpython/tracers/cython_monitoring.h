/* SPDX-License-Identifier: MIT */
/* The events of Cython functions on CPython 3.13 and newer: events of sys.monitoring under a tool id of their own.
 *
 * Cython tells only tools that want an event in all code. So these are global events, and Python code has them, too. It
 * answers each with DISABLE, which switches the event off at that place for good: a Python line pays once.
 *
 * Protected as recorder_state.h says. */
#ifndef CLP_CYTHON_MONITORING_H
#define CLP_CYTHON_MONITORING_H

#include "cpython/recorder/recorder_state.h"

/* Begins the events where there are functions of Cython and a window is open, unless they have begun. Where other tools
 * leave no room for that, a warning says so. Runs Python code. False with an exception set: warnings are errors. Does
 * nothing before 3.13. */
bool clp_cython_begin(struct clp_recorder *recorder);

/* Ends them. An exception that is set stays set. */
void clp_cython_end(struct clp_recorder *recorder);

#endif
