/* SPDX-License-Identifier: MIT */
/* Selects functions that Cython has compiled (cpython/tracers/cython.h). What must be known of them is found out in
 * Python: clineprof._boot.cython. Protected as recorder_state.h says; all but the first three functions run Python
 * code. */
#ifndef CLP_CYTHON_SELECTING_H
#define CLP_CYTHON_SELECTING_H

#include "code_window.h"
#include "cpython/tracers/cython.h"

/* Returns NULL if lines of Cython functions can be seen in this interpreter, with this tracer; else why a function is
 * not profiled, as the end of a sentence. */
const char *clp_cython_missing(const struct clp_recorder *recorder);

/* Is the object a function that Cython has compiled? Runs no code of the program. */
bool clp_cython_is(PyObject *object);

/* Does the module, or a class in it, hold such a function? Runs no code of the program. Leaves no exception. */
bool clp_cython_made(PyObject *module);

/* Selects the function that the object is. One that was compiled without line tracing is selected, too, and its report
 * says what to do. Returns 1; 0 if the object is of another kind; -1 with an exception set. */
int clp_cython_select(struct clp_code_window *window, PyObject *object);

/* Takes the function that the object is from the window. False with an exception set. */
bool clp_cython_remove(struct clp_code_window *window, PyObject *object);

/* Selects a function with line tracing by what is known of it: what tells it apart, the path of its file, the text of
 * that file (bytes or None), and the last line if there is no text. False with an exception set. */
bool clp_cython_select_at(struct clp_code_window *window, const struct clp_cython_key *key, PyObject *path,
                          PyObject *text, int32_t last_line);

#endif
