/* SPDX-License-Identifier: MIT */
/* Takes what samples of stacks have given lines and calling contexts, and what was not yet moved into blocks and the tree of
 * calls when the copy was made (engine/stack_samples.h). */
#ifndef CLP_LIVE_SAMPLES_H
#define CLP_LIVE_SAMPLES_H

#include "live_copy.h"

/* Makes a block of the reader's own of an area with the lines of a function. */
clp_status clp_live_take_samples(struct clp_live_reader *reader, struct clp_area *area, size_t bytes);

/* Notes the contexts of an area. */
clp_status clp_live_take_sampled_calls(struct clp_live_reader *reader, struct clp_area *area, size_t bytes);

/* Adds the contexts that were noted to the reader's tree of calls, which must have been made. A context whose parent or
 * function did not get into the file is left out. */
clp_status clp_live_make_sampled_calls(struct clp_live_reader *reader);

#endif
