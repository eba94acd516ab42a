/* SPDX-License-Identifier: MIT */
/* The function objects of a site (recorder_state.h), known by weak references, as the keys of a dict, so that
 * they live no longer than they would anyway. Threads: as recorder_state.h says; a function that dies removes
 * itself from the dict. */
#ifndef CLP_FUNCTION_REFS_H
#define CLP_FUNCTION_REFS_H

#include "cpython/recorder/recorder_state.h"

/* Adds the function. False with an exception set. */
bool clp_function_refs_note(struct clp_site *site, PyObject *function);

/* Keeps this code for the function until the function dies or is forgotten. False with an exception set. */
bool clp_function_refs_put_aside(struct clp_site *site, PyObject *function, PyObject *code);

/* A new list of the functions that are alive; NULL with an exception set. */
PyObject *clp_function_refs_list(const struct clp_site *site);

#endif
