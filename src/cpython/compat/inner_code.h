/* SPDX-License-Identifier: MIT */
/* Code within code: that of the functions and classes that a body defines lies among its constants.
 *
 * Threads: nothing is kept here. Making code runs Python code (audit hooks). */
#ifndef CLP_INNER_CODE_H
#define CLP_INNER_CODE_H

#include "compat.h"

/* What takes the place of this code: owned, maybe the same; NULL with an exception set. */
typedef PyObject *clp_inner_code_use(void *data, PyObject *inner);

/* A copy of the code in which all code directly within it is replaced; the same where none is another. Owned;
 * NULL with an exception set. */
PyObject *clp_inner_code_replaced(PyObject *code, clp_inner_code_use *replace, void *data);

/* The qualified name of code that lies within other code, or of a module's (NULL and NULL). New; NULL with an
 * exception set. */
PyObject *clp_inner_code_name(PyCodeObject *code, PyCodeObject *within, PyObject *name_within);

/* Is it a comprehension or a generator expression that stands on one line? That line has its time and memory,
 * and its table would tell no more. Since 3.12 most comprehensions are no code of their own anyway. From 3.14 on
 * annotations have code, too, which runs when somebody asks for them: it is no function that one sees. */
bool clp_inner_code_is_part_of_line(PyCodeObject *code);

#endif
