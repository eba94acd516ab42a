/* SPDX-License-Identifier: MIT */
/* Makes the output of `clineprof diff --format json`, `--format html` and `--format github`. The comparison becomes one Python object,
 * which docs/compare.md draws, and a module of clineprof._formats makes the text from it. */
#ifndef CLP_DIFF_EXPORT_H
#define CLP_DIFF_EXPORT_H

#include "cpython/compat/compat.h"
#include "diff_result.h"

/* The object: a new reference, or NULL with an exception set. */
PyObject *clp_diff_object(const struct clp_diff *diff);

/* Appends the text. `said`, which is NULL except for html, has the lines that the page says above its tables, the last
 * of them in large letters. False after one line of complaint; the text may be appended even then, as when only GitHub's
 * summary cannot be written. */
bool clp_diff_export(const struct clp_diff *diff, const char *said, struct clp_buf *out);

#endif
