/* SPDX-License-Identifier: MIT */
/* Blocks: `with profile.block("name"):` counts the lines of a part of a body, while it runs, as a function of
 * their own.
 *
 * A frame that is running cannot get probes. So while a block is open, the line events of its frame come from
 * sys.monitoring (3.12 and newer) or from the thread's trace function (before), whichever tracer counts the
 * functions (block_source.h). To the engine an open block is one more activation above that of its body
 * (stays.h).
 *
 * Protected as recorder_state.h says. */
#ifndef CLP_BLOCKS_H
#define CLP_BLOCKS_H

#include "cpython/recorder/stays.h"
#include "code_window.h"

/* Opens a block of this name, for the window, at the line at which the frame stands; NULL: `with profile`
 * itself. Counting begins with clp_blocks_begin. NULL with an exception set. */
struct clp_stay *clp_blocks_open(struct clp_code_window *window, PyFrameObject *frame, PyObject *name);

/* Leaves the block and frees it. */
void clp_blocks_close(struct clp_stay *stay);

/* Frees a block that is on no stack. */
void clp_blocks_forget(struct clp_stay *stay);

/* The innermost `with profile` of this frame, or NULL. */
struct clp_stay *clp_blocks_find(const struct clp_recorder *recorder, const PyFrameObject *frame);

#endif
