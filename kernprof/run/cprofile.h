/* SPDX-License-Identifier: MIT */
/* The profiler of runs without -l: the standard library's cProfile, which counts functions. */
#ifndef CLP_CPROFILE_H
#define CLP_CPROFILE_H

#include "cpython/compat/compat.h"

/* Returns a new cProfile.Profile that is not enabled yet. It is also a decorator and a context manager
 * (clineprof/_compat/cprofile.py). NULL with an exception set. */
PyObject *clp_cprofile_new(void);

/* Starts to record all that runs. False with an exception set. */
bool clp_cprofile_enable(PyObject *profile);

/* Stops recording, until clp_cprofile_enable. */
void clp_cprofile_disable(PyObject *profile);

/* Stops recording, and returns the profile as the bytes of a file that pstats reads. NULL with an exception set. */
PyObject *clp_cprofile_bytes(PyObject *profile);

/* Was nothing recorded? To be asked after clp_cprofile_bytes. */
bool clp_cprofile_empty(PyObject *profile);

/* Returns the report of pstats, a str, and empties the profile. NULL with an exception set. */
PyObject *clp_cprofile_report(PyObject *profile);

#endif
