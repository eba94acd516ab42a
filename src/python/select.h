/* SPDX-License-Identifier: MIT */
/* From what a user decorates to the code objects that run: methods, properties, partials, classes
 * and wrapped functions are followed to the functions inside. Nothing is changed or wrapped.
 *
 * Looking at objects runs the program's code: no window is held meanwhile, and each function found is a change
 * of its own (recorder.h). */
#ifndef CLP_SELECT_H
#define CLP_SELECT_H

#include "window.h"

/* Selects the code of every Python function that `object` stands for. Returns how many functions were
 * found (0: none, it is no Python code), -1 with an exception set. */
int clp_select_object(struct clp_window *window, PyObject *object);

#endif
