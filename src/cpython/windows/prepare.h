/* SPDX-License-Identifier: MIT */
/* Selects code that is about to run, or gives it its probes, before there are functions of it. Since 3.13 a
 * function whose code is exchanged later is called more slowly for good; and the bodies of modules and classes
 * never are functions. Preparing is one change (change.h). */
#ifndef CLP_PREPARE_H
#define CLP_PREPARE_H

#include "code_window.h"

/* The code to run in place of a module's code, a new reference. In it, what the chooser chooses is selected,
 * and functions that are decorated with `profile` have probes, which record nothing until the functions are
 * selected. Without a chooser (NULL) only the latter is done. `globals` lead to the module's source where this
 * is no file; may be NULL. Returns the same code where nothing is to be done; NULL with an exception set. */
PyObject *clp_prepare_code(struct clp_code_window *window, PyObject *code,
                           const struct clp_chooser *chooser, PyObject *globals);

/* Does for a function that exists, and for all code within it, what clp_prepare_code does for a module's code.
 * False with an exception set. */
bool clp_prepare_function(struct clp_code_window *window, PyObject *function,
                          const struct clp_chooser *chooser);

/* The chooser of this name: "all", "functions" (what def defines, and a module's body) or "module" (a module's
 * body alone). NULL with a ValueError set. */
const struct clp_chooser *clp_chooser_named(const char *name);

#endif
