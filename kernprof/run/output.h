/* SPDX-License-Identifier: MIT */
/* The output of a run (-o): chooses and checks its name before the program runs, and writes the profile at the end. */
#ifndef CLP_OUTPUT_H
#define CLP_OUTPUT_H

#include "session.h"

/* Names the output, and checks that it can be written. If the folder is full or read-only, the output gets a name in the
 * temporary folder, which is told. Any other fault is the user's mistake: false with SystemExit set. */
bool clp_output_ready(struct clp_run *run);

/* Writes the profile to the output or, when that fails, to the temporary folder, and tells its path. False, after a
 * message, when neither can be written. The process then ends with 1, unless the program itself fails. */
bool clp_output_write_profile(struct clp_run *run, const struct clp_profile *profile);

/* Writes a profile that is already encoded, as clp_output_write_profile does. */
bool clp_output_write(struct clp_run *run, const char *bytes, size_t count);

/* Prints `text`, which says why there is no profile. The process then ends with 1, unless the program itself fails. */
void clp_output_say_lost(const char *text);

#endif
