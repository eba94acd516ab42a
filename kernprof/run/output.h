/* SPDX-License-Identifier: MIT */
/* Where the profile of a run goes (-o): the name, looked at before the program runs, and writing it at the end. */
#ifndef CLP_OUTPUT_H
#define CLP_OUTPUT_H

#include "session.h"

/* Names the output. False with SystemExit set when it cannot be written to, and no other place will do. */
bool clp_output_ready(struct clp_run *run);

/* Writes the profile there, or, when that fails, to the temporary folder, and tells where it is. False: there is
 * none, which has been told; the process ends with 1, where the program has not failed. */
bool clp_output_write_profile(struct clp_run *run, const struct clp_profile *profile);

/* Writes a profile that is bytes already, as clp_output_write_profile does. */
bool clp_output_write(struct clp_run *run, const char *bytes, size_t count);

/* Tells that there will be no profile; the process ends as above. */
void clp_output_say_lost(const char *text);

#endif
