/* SPDX-License-Identifier: MIT */
/* The viewer's option --format: writes a profile as a file for other programs. Python makes most formats
 * (src/clineprof/_formats), C makes "lprof" and "line_profiler". */
#ifndef CLP_EXPORT_H
#define CLP_EXPORT_H

#include "profile/profile.h"
#include "cli/options.h"
#include <stdbool.h>

/* Writes the profile in options->format to options->outfile, or to standard output. False after one
 * line of complaint. */
bool clp_export(const struct clp_profile *profile, const struct clp_view_options *options);

#endif
