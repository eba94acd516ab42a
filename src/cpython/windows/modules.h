/* SPDX-License-Identifier: MIT */
/* Modules that need something done as soon as they are loaded: greenlet's, and those that read code. The
 * loaders' exec_module is exchanged while there are windows, so that an import tells of itself.
 *
 * Threads: the interpreter's lock. clp_modules_watch runs Python code, before a change (change.h), and so does
 * the meeting of a module, in the thread that imports it. Several threads may watch at once, and each
 * goes on when all is done; clp_modules_unwatch runs no Python code. */
#ifndef CLP_MODULES_H
#define CLP_MODULES_H

#include "cpython/recorder/recorder_state.h"

/* Meets those that are loaded, now, and those that come, then. An exception that is set stays. */
void clp_modules_watch(struct clp_recorder *recorder);

/* The loaders get their own exec_module back, unless somebody has put something else there since. */
void clp_modules_unwatch(void);

#endif
