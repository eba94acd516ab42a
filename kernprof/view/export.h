/* SPDX-License-Identifier: MIT */
/* The viewer's --format: a profile as a file that other programs read, made in Python. */
#ifndef CLP_EXPORT_H
#define CLP_EXPORT_H

#include "profile/profile.h"
#include "cli/options.h"
#include <stdbool.h>

/* Writes the profile in options->format to options->outfile, or to standard output. False after one
 * line of complaint. */
bool clp_export(const struct clp_profile *profile, const struct clp_view_options *options);

#endif
