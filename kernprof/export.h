/* SPDX-License-Identifier: MIT */
/* The viewer's --format: a profile as a file that other programs read, made in Python. */
#ifndef CLP_EXPORT_H
#define CLP_EXPORT_H

#include "../src/core/profile.h"
#include "options.h"
#include <stdbool.h>

/* Writes the profile in options->format to options->outfile, or to standard output. False after one
 * line of complaint. */
bool clp_export(const struct clp_profile *profile, const struct clp_view_options *options);

/* Writes to options->outfile, or to standard output; the same of failures, but that a reader who
 * closed the pipe is not complained about. */
bool clp_export_put(const struct clp_view_options *options, const struct clp_buf *bytes);

#endif
