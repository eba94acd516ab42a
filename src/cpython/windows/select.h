/* SPDX-License-Identifier: MIT */
/* Finds the code objects that run when what a user has decorated is called. Methods, properties, partials,
 * classes, wrapped functions and the implementations of generic functions are followed to the functions inside.
 * Nothing is changed or wrapped, except `register` of functools.singledispatch.
 *
 * Looking at objects runs the program's code. So no window is held meanwhile, and selecting each function is a
 * change of its own (change.h). */
#ifndef CLP_SELECT_H
#define CLP_SELECT_H

#include "code_window.h"

/* How to select. */
struct clp_selecting {
    bool with_inner; /* select what is defined within the functions, too */
    /* Borrowed: what implementations are selected with that are registered later. NULL: they are not. */
    PyObject *profiler;
    /* Borrowed: a list that gets a line for each class of which some function is left out. May be NULL. */
    PyObject *left_out;
};

/* Selects the code of every Python function that `object` stands for. Returns how many functions there are,
 * including those that are left out (0: `object` is no Python code); -1 with an exception set. */
int clp_select_object(struct clp_code_window *window, PyObject *object,
                      const struct clp_selecting *selecting);

#endif
