/* SPDX-License-Identifier: MIT */
/* From what a user decorates to the code objects that run: methods, properties, partials, classes
 * and wrapped functions are followed to the functions inside. Nothing is changed or wrapped. */
#ifndef CLP_SELECT_H
#define CLP_SELECT_H

#include "window.h"

/* Selects the code of every Python function that `object` stands for, and notes their files'
 * texts. Returns how many functions were found (0: none, it is no Python code), -1 with an
 * exception set. */
int clp_select_object(struct clp_window *window, PyObject *texts, PyObject *object);

#endif
