/* SPDX-License-Identifier: MIT */
/* Makes the output of `clineprof diff --format json`: a comparison as one JSON object, which docs/compare.md draws and
 * clineprof._report.diff writes. */
#ifndef CLP_DIFF_JSON_H
#define CLP_DIFF_JSON_H

#include "diff_result.h"

/* Appends the JSON text and a line end. False after one line of complaint. */
bool clp_diff_json_add(const struct clp_diff *diff, struct clp_buf *out);

#endif
