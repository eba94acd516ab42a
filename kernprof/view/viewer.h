/* SPDX-License-Identifier: MIT */
/* The viewer's command line: prints profiles, or runs one of its commands (commands.h). */
#ifndef CLP_VIEWER_H
#define CLP_VIEWER_H

#include "cpython/compat/compat.h"

/* Runs the command line. `words` is a list of str; words[0] is the name or path by which the viewer was called. Returns
 * NULL with SystemExit (the exit code) or another exception set. */
PyObject *clp_viewer_main(PyObject *words);

#endif
