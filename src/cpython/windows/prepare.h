/* SPDX-License-Identifier: MIT */
/* Code that is about to run is selected, or gets its probes, before there are functions of it: since
 * 3.13 a function whose code is exchanged afterwards is called more slowly for good, and module and
 * class bodies are never functions at all. Preparing is one change (change.h). */
#ifndef CLP_PREPARE_H
#define CLP_PREPARE_H

#include "code_window.h"

/* The code to run in the place of this one, a module's, a new reference: what the chooser chooses in
 * it is selected, and functions that are decorated with `profile` have probes, which record nothing
 * until they are selected. Without a chooser (NULL) only the latter. `globals` lead to the module's source
 * where it is no file; or NULL. The same code where there is nothing to do; NULL with an exception set. */
PyObject *clp_prepare_code(struct clp_code_window *window, PyObject *code,
                           const struct clp_chooser *chooser, PyObject *globals);

/* Does what clp_prepare_code does to a function that exists, and to all code within it. False with an
 * exception set. */
bool clp_prepare_function(struct clp_code_window *window, PyObject *function,
                          const struct clp_chooser *chooser);

/* "all", "functions" (what def defines, and a module's body) or "module" (that alone). NULL with a
 * ValueError set. */
const struct clp_chooser *clp_chooser_named(const char *name);

#endif
