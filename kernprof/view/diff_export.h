/* SPDX-License-Identifier: MIT */
/* `clineprof diff --format json` and `--format github`: a comparison as one Python object (docs/compare.md draws it),
 * of which a module of clineprof._formats makes the text. */
#ifndef CLP_DIFF_EXPORT_H
#define CLP_DIFF_EXPORT_H

#include "diff_result.h"

/* Appends the text. False after one line of complaint; what could be made of it is appended then, too. */
bool clp_diff_export(const struct clp_diff *diff, struct clp_buf *out);

#endif
