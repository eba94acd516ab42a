/* SPDX-License-Identifier: MIT */
/* The viewer's command line: prints profiles, or runs one of its commands (commands.h). */
#ifndef CLP_VIEWER_H
#define CLP_VIEWER_H

#include "cpython/compat/compat.h"

/* `words` is a list of str, words[0] being the name or path that the viewer was called by. NULL with SystemExit,
 * or another exception, set. */
PyObject *clp_viewer_main(PyObject *words);

#endif
