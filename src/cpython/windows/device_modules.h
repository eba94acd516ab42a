/* SPDX-License-Identifier: MIT */
/* Modules of packages that compute on devices. Functions of theirs are exchanged or wrapped, so that device_time.h hears
 * when CUDA may have been loaded, when another profiler is about to take CUPTI, and which thread calls backward().
 * Nothing is done before a window wants the time of devices. Protected as recorder_state.h says. */
#ifndef CLP_DEVICE_MODULES_H
#define CLP_DEVICE_MODULES_H

#include "cpython/recorder/recorder_state.h"

/* Call this for each module that was loaded. Leaves no exception. */
void clp_device_modules_meet(const char *name, PyObject *module);

/* Does it for all modules that are loaded. Runs Python code. An exception that is set stays set. */
void clp_device_modules_meet_loaded(void);

#endif
