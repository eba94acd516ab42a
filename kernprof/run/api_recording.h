/* SPDX-License-Identifier: MIT */
/* clineprof._core.Recording: what a profiler counts that the program itself has made (clineprof.profile), from its
 * live file to the profile at the end (ending.h).
 *
 * In a program of several processes, switched on by the environment, each process records into a live file of its
 * own, as with --prof-child-procs (family.h). The one that was first adds up at its end what has ended by then. */
#ifndef CLP_API_RECORDING_H
#define CLP_API_RECORDING_H

#include "cpython/compat/compat.h"

/* The type, a new reference; NULL with an exception set. */
PyObject *clp_api_recording_make_type(PyObject *module);

#endif
