/* SPDX-License-Identifier: MIT */
/* Compares two profiles that Python holds, for Profile.diff. */
#ifndef CLP_DIFF_CONTENT_H
#define CLP_DIFF_CONTENT_H

#include "cpython/compat/compat.h"

/* The Python function compare(before, after, names, what). before, after: contents of .lprof files. names: what the
 * text calls them. what: "text" as of `clineprof diff`; "marked", the text with marks for colours (report/table.h), of
 * the functions that changed most; or "object", that of --format json. ValueError when the bytes are no profile. */
PyObject *clp_diff_content_compare(PyObject *module, PyObject *arguments);

#endif
