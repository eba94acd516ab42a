/* SPDX-License-Identifier: MIT */
/* The type clineprof._core.Recording: the recording of clineprof.profile, whose profiler the program itself has made.
 * It lasts from the live file to the profile at the end (ending.h).
 *
 * The environment may switch clineprof.profile on in all processes of a program. Each process then records into a live
 * file of its own, as with --prof-child-procs (family.h). The first process adds up, at its end, the processes that
 * have ended by then. */
#ifndef CLP_API_RECORDING_H
#define CLP_API_RECORDING_H

#include "cpython/compat/compat.h"

/* Makes the type: a new reference, or NULL with an exception set. */
PyObject *clp_api_recording_make_type(PyObject *module);

#endif
