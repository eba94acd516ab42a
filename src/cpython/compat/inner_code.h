/* SPDX-License-Identifier: MIT */
/* Handles inner code: the code objects of the functions and classes that a body defines are constants of the body's
 * code object.
 *
 * Threads: nothing is kept here. Creating a code object runs Python code (audit hooks). */
#ifndef CLP_INNER_CODE_H
#define CLP_INNER_CODE_H

#include "compat.h"

/* Returns the code that replaces `inner`: owned, may be `inner` itself; NULL with an exception set. */
typedef PyObject *clp_inner_code_use(void *data, PyObject *inner);

/* Returns a copy of the code in which each code object directly within it is replaced, or the code itself where nothing
 * changes. Owned; NULL with an exception set. */
PyObject *clp_inner_code_replaced(PyObject *code, clp_inner_code_use *replace, void *data);

/* Returns the qualified name of code that lies within the code `within`, whose own qualified name is `name_within`.
 * Both are NULL for the code of a module. New reference; NULL with an exception set. */
PyObject *clp_inner_code_name(PyCodeObject *code, PyCodeObject *within, PyObject *name_within);

/* Is the code only a part of one line: a comprehension or generator expression on a single line, or the code of
 * annotations? The line around a comprehension includes its time and memory, so a separate table would tell nothing
 * more. Since 3.12 most comprehensions have no code object. Since 3.14 annotations have code, which runs when somebody
 * asks for them, but is no function that a user can see. */
bool clp_inner_code_is_part_of_line(PyCodeObject *code);

#endif
