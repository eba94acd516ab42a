/* SPDX-License-Identifier: MIT */
/* `clineprof diff --format json`: a comparison as one JSON object (docs/compare.md draws it), which
 * Python writes. */
#ifndef CLP_DIFF_JSON_H
#define CLP_DIFF_JSON_H

#include "diff_result.h"

/* Appends the object and a line end. False after one line of complaint. */
bool clp_diff_json_add(const struct clp_diff *diff, struct clp_buf *out);

#endif
