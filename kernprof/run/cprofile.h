/* SPDX-License-Identifier: MIT */
/* Runs without -l: the standard library's cProfile counts functions. */
#ifndef CLP_CPROFILE_H
#define CLP_CPROFILE_H

#include "cpython/compat/compat.h"

/* A new cProfile.Profile that can also mark code (clineprof/_compat/cprofile.py), not yet enabled. NULL with an
 * exception set. */
PyObject *clp_cprofile_new(void);

/* From now on it records all that runs. False with an exception set. */
bool clp_cprofile_enable(PyObject *profile);

/* Until it is enabled again. */
void clp_cprofile_disable(PyObject *profile);

/* Ends recording. The bytes that pstats reads; NULL with an exception set. */
PyObject *clp_cprofile_bytes(PyObject *profile);

/* After clp_cprofile_bytes: was nothing recorded? */
bool clp_cprofile_empty(PyObject *profile);

/* pstats' report, a str; NULL with an exception set. It empties the profile. */
PyObject *clp_cprofile_report(PyObject *profile);

#endif
