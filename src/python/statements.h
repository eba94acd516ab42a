/* SPDX-License-Identifier: MIT */
/* --by-statement: which lines of a file belong to one statement, as Python's own parser finds it. */
#ifndef CLP_STATEMENTS_H
#define CLP_STATEMENTS_H

#include "../core/decoded.h"
#include "compat.h"

/* An owned helper for many files, or NULL with an exception set. To be made before the program runs,
 * for it imports the parser. */
PyObject *clp_statements_start(void);

/* The statements of the code's file; none where it cannot be read. Borrowed from the helper, for its
 * lifetime. False with an exception set. */
bool clp_statements_of(PyObject *helper, const PyCodeObject *code, struct clp_statements *statements);

#endif
