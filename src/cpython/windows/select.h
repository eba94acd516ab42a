/* SPDX-License-Identifier: MIT */
/* From what a user decorates to the code objects that run: methods, properties, partials, classes
 * wrapped functions and the implementations of generic ones are followed to the functions inside. Nothing is
 * changed or wrapped, but the `register` of functools.singledispatch.
 *
 * Looking at objects runs the program's code: no window is held meanwhile, and each function found is a change
 * of its own (change.h). */
#ifndef CLP_SELECT_H
#define CLP_SELECT_H

#include "code_window.h"

struct clp_selecting {
    bool with_inner; /* what is defined in the functions, too */
    PyObject *profiler; /* borrowed: what implementations are selected with that are registered later, or NULL */
    PyObject *left_out; /* borrowed: a list that gets a line for each class of which something is left out */
};

/* Selects the code of every Python function that `object` stands for. Returns how many functions there
 * are, those that are left out among them (0: it is no Python code), -1 with an exception set. */
int clp_select_object(struct clp_code_window *window, PyObject *object,
                      const struct clp_selecting *selecting);

#endif
