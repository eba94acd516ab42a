/* SPDX-License-Identifier: MIT */
/* Blocks that the program names for torch: `with torch.profiler.record_function("name"):` is a block, as
 * `with profile.block("name"):` is, of each profiler that wants that. Blocks of torch's own code are not.
 *
 * Protected as recorder_state.h says. */
#ifndef CLP_TORCH_NAMES_H
#define CLP_TORCH_NAMES_H

#include "profiler_object.h"

/* How many blocks with different names or places may come. A program may make names from numbers. */
#define CLP_TORCH_NAMES_MOST 1000

/* From now on the profiler wants blocks. Runs Python code. */
void clp_torch_names_start(struct clp_profiler *self);
/* .. and no more. Nothing happens where it never wanted them. */
void clp_torch_names_stop(struct clp_profiler *self);

/* Are names of the calling thread ignored from now on? Returns what held before. */
bool clp_torch_names_ignore(bool ignored);

#endif
