/* SPDX-License-Identifier: MIT */
/* The function objects of a site (recorder_state.h): known by weak references, as the keys of a dict, so that
 * they come and go as they would. Threads: as recorder_state.h says; a function that dies takes itself out. */
#ifndef CLP_FUNCTION_REFS_H
#define CLP_FUNCTION_REFS_H

#include "cpython/recorder/recorder_state.h"

/* False with an exception set. */
bool clp_function_refs_note(struct clp_site *site, PyObject *function);

/* This code is kept for the function until it dies, or is forgotten. False with an exception set. */
bool clp_function_refs_put_aside(struct clp_site *site, PyObject *function, PyObject *code);

/* Owned list of those that live; NULL with an exception set. */
PyObject *clp_function_refs_list(const struct clp_site *site);

#endif
